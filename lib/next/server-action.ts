import { redirect } from 'next/navigation.js';
import type { Outcome, Refusal } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import type { ExecuteRequest } from '../engine/definition.ts';
import type { Operation } from '../engine/operation.ts';
import { type KeyedCall, readActionCall } from './action-call.ts';
import { withFirstAnswer } from './first-answer.ts';
import { complainOfKeylessForm, inWordsForPeople } from './keyless-form.ts';
import { RollbackRedirect } from './rollback-redirect.ts';

/** A server action that runs once per key. */
export interface ServerAction<Input, Result> {
  /** As `<form action>`: works without JavaScript. */
  (form: FormData): Promise<void>;
  /** From code, with plain data. */
  (input: Input, call: KeyedCall): Promise<Outcome<Result>>;
  /** With `useActionState` and `useIdempotentSubmit`. */
  (previous: Outcome<Result> | null, form: FormData): Promise<Outcome<Result>>;
}

/** Steps that follow an answer. */
export interface ServerActionOptions<Result> {
  /**
   * Makes the operation's input of a form whose fields are not what the schema expects, such as one field of JSON. Left out: the
   * schema says how the fields are read. `bound`: the arguments that were bound to the action. The form itself stays what two
   * submits of a key are compared by.
   */
  input?: (form: FormData, bound: readonly unknown[]) => unknown;
  /**
   * Runs for every settled answer, first or replayed: revalidate here, set cookies here. The effect stands whatever
   * happens in it.
   */
  onSettled?: (outcome: Outcome<Result>) => void | Promise<void>;
  /** The address that a success leads to, first or replayed. Without JavaScript this is post/redirect/get. */
  redirectTo?: (data: Result) => string;
  /**
   * The address for a refusal that nothing would show: of a bare `<form action>`, which drops what its action returns. Not
   * asked where `useActionState` or a caller gets the refusal.
   */
  refusedTo?: (refusal: Refusal) => string;
}

/**
 * Makes an operation a server action: one intent, one effect, one answer, with and without JavaScript. Refusals are
 * values of the outcome union; `redirect()` in the handler is a success, `notFound()` and its like roll back.
 *
 * ```ts
 * 'use server';
 * export const placeOrder = serverAction(checkout, { redirectTo: (order) => `/orders/${order.id}` });
 * ```
 */
export function serverAction<Input, Result>(
  operation: Operation<Input, Result>,
  { input, onSettled, redirectTo, refusedTo }: ServerActionOptions<Result> = {},
): ServerAction<Input, Result> {
  const action = async (...args: unknown[]): Promise<Outcome<Result>> => {
    const request = readActionCall(args);
    // Neither a previous state from `useActionState` was left out of the context, nor a call from code.
    const isBare = request.payload instanceof FormData && request.context?.length === args.length - 1;
    complainOfKeylessForm(operation.name, request, isBare);
    const {
      outcome: plain,
      redirect: stored,
      thrown,
    } = await operation.run({
      ...request,
      ...(input && readWith(input, request)),
      acceptKeys: operation.acceptKeys ?? 'minted',
    });
    const outcome = inWordsForPeople(plain, request);
    if (thrown instanceof RollbackRedirect) redirect(thrown.url);
    if (isControlFlow(thrown)) throw thrown;
    if (isSettled(outcome)) await harmless(operation, outcome, 'onSettled', () => onSettled?.(outcome));
    if (stored) redirect(stored.url, stored.type as never);
    if (outcome.ok && redirectTo) {
      const to = await harmless(operation, outcome, 'redirectTo', () => redirectTo(outcome.data));
      if (to !== undefined) redirect(to);
    }
    if (!outcome.ok && isBare && refusedTo) redirect(refusedTo(outcome));
    return await withFirstAnswer(outcome, operation);
  };
  return action as ServerAction<Input, Result>;
}

function readWith(
  input: NonNullable<ServerActionOptions<never>['input']>,
  { payload, context = [] }: ExecuteRequest,
): Pick<ExecuteRequest, 'read'> {
  return payload instanceof FormData ? { read: async () => ({ payload, input: input(payload, context) }) } : {};
}

function isSettled<Result>(outcome: Outcome<Result>): boolean {
  return outcome.ok || outcome.code === 'failed';
}

/** The effect stands: an error page now would say that an order failed which was placed. */
async function harmless<Result, T>(
  operation: Pick<Operation<never, Result>, 'report'>,
  outcome: Outcome<Result>,
  during: 'onSettled' | 'redirectTo',
  run: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (isControlFlow(error)) throw error;
    operation.report(error, { key: outcome.key ?? '', during });
    return undefined;
  }
}
