import type { KeyedCall } from '../../core/fields.ts';
import type { Outcome } from '../../core/outcome.ts';

/** A server action made by `serverAction(operation)`, or any function of this shape. */
export type SubmitAction<R, Reason extends string = string> = (
  previous: Outcome<R> | null,
  form: FormData,
) => Promise<Outcome<R, Reason>>;

/** A server action made by `serverAction(operation)`, which takes the schema's input as well as a form. */
export interface ValuesAction<R, I, Reason extends string = string> {
  (values: I, call: KeyedCall): Promise<Outcome<R, Reason, NoInfer<I>>>;
  (previous: Outcome<R> | null, form: FormData): Promise<Outcome<R, Reason, NoInfer<I>>>;
}

/** Sends what a person has submitted, once more for each attempt. */
export type Send<R> = (call: Required<KeyedCall>) => Promise<Outcome<R>>;

/** How one attempt ended, as the machine's event. */
export type ActionReply<R> = Details<R> &
  ({ type: 'answered'; outcome: Outcome<R> } | { type: 'lost' } | { type: 'navigated' });

/** The end of an attempt; undefined where it was not sent, or where nobody waits for its answer any more. */
export type PendingAttempt<R> = Promise<ActionReply<R> | undefined>;

interface Details<R> {
  /** Of an answer. */
  outcome?: Outcome<R>;
  /** The error of an attempt that is lost: from `Failed to fetch` to a masked server error. */
  thrown?: unknown;
}

/**
 * Sends once, and never throws.
 *
 * A redirect rejects the action's promise, and Next's router has begun to navigate by then: it marks the error as
 * `handled` and goes on by itself (server-action-reducer.js), so the error need not be thrown into React.
 */
export async function callAction<R>(send: Send<R>, call: Required<KeyedCall>): Promise<ActionReply<R>> {
  try {
    const outcome = await send(call);
    return isOutcome(outcome) ? { type: 'answered', outcome } : { type: 'lost' };
  } catch (thrown) {
    return /^NEXT_RED/.test(Object(thrown).digest) ? { type: 'navigated' } : { type: 'lost', thrown };
  }
}

/** Recognizes an outcome among values from outside. */
export function isOutcome(value: unknown): value is Outcome<never> {
  return typeof (value as Outcome<never> | null | undefined)?.ok === 'boolean';
}
