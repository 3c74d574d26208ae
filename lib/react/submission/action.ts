import type { Outcome } from '../../core/outcome.ts';

/** A server action made by `serverAction(operation)`, or any function of this shape. */
export type SubmitAction<R> = (previous: Outcome<R> | null, form: FormData) => Promise<Outcome<R>>;

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
export async function callAction<R>(action: SubmitAction<R>, form: FormData): Promise<ActionReply<R>> {
  try {
    const outcome = await action(null, form);
    return isOutcome(outcome) ? { type: 'answered', outcome } : { type: 'lost' };
  } catch (thrown) {
    const { digest } = Object(thrown);
    return `${digest}`.startsWith('NEXT_REDIRECT') ? { type: 'navigated' } : { type: 'lost', thrown };
  }
}

/** Recognizes an outcome among values from outside. */
export function isOutcome(value: unknown): value is Outcome<never> {
  return typeof (value as Outcome<never> | null | undefined)?.ok === 'boolean';
}
