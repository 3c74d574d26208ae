import { headers } from 'next/headers.js';
import type { Outcome, Refusal } from 'oncekit';
import type { Messages } from 'oncekit/react';

/** What a form was answered, for the page that says so. */
export interface RefusedForm extends Pick<Refusal, 'message' | 'fieldErrors'> {
  /** It is no error, and is still being found out. */
  isInDoubt: boolean;
  /** The page has fields to fill in besides: it is not opened anew by itself. */
  isOpen: boolean;
}

interface Options {
  /** The form's own words. Default: the message of the refusal. */
  words?: Partial<Messages>;
  /** As of `RefusedForm`. */
  isOpen?: boolean;
}

const IN_DOUBT: readonly string[] = ['in_flight', 'outcome_unknown'];

/** By the headers of their request: Next gives an action and the page that is rendered behind it the same ones. */
const refusals = new WeakMap<object, RefusedForm>();

/**
 * Has the page that answers a form without JavaScript know of its refusal, for its title and its top (app/layout.tsx). With
 * JavaScript the form itself says it.
 */
export function showingRefusals<Action extends (...args: never[]) => Promise<unknown>>(
  action: Action,
  { words = {}, isOpen = false }: Options = {},
): Action {
  const showing = async (...args: never[]) => {
    const outcome = (await action(...args)) as Outcome<unknown> | undefined;
    const request = await headers();
    if (outcome?.ok === false && !request.has('next-action')) {
      const isInDoubt = IN_DOUBT.includes(outcome.code);
      const own = isInDoubt ? words.unsettled : words[outcome.code];
      const message = (typeof own === 'function' ? own(outcome) : own) || outcome.message;
      refusals.set(request, { ...outcome, message, isOpen, isInDoubt });
    }
    return outcome;
  };
  // A form of the kit finds the action's operation on its prototype.
  return Object.setPrototypeOf(showing, Object.getPrototypeOf(action));
}

/** The refusal that the page of this request answers a form with, if it does. */
export async function refusedForm(): Promise<RefusedForm | undefined> {
  return refusals.get(await headers());
}
