import type { Outcome } from '../core/outcome.ts';
import { isOutcome } from './verdict.ts';
import { sleep } from './wait.ts';

/** A server action made by `serverAction(operation)`, or any function of this shape. */
export type SubmitAction<R> = (previous: Outcome<R> | null, form: FormData) => Promise<Outcome<R>>;

/** How one attempt ended, as the machine's event. */
export type Reply<R> = Details<R> &
  ({ type: 'answered'; outcome: Outcome<R> } | { type: 'lost' } | { type: 'navigated' } | { type: 'asked'; by: 'run' });

interface Details<R> {
  /** Of an answer. Only refusals ask for patience. */
  outcome?: { retryAfterMs?: number };
  /** Steers Next, such as `notFound()`. Of an attempt that is lost. */
  thrown?: unknown;
  /** The server does not know the action: another deployment has taken over. Nothing was executed. */
  isStale?: boolean;
  /** No answer in time. The attempt is still out, for it cannot be aborted; this is how it ends after all. */
  late?: Promise<Reply<R>>;
}

/**
 * Sends once, and never throws.
 *
 * A redirect rejects the action's promise, and Next's router has begun to navigate by then: it marks the error as
 * `handled` and goes on by itself (server-action-reducer.js), so the error need not be thrown into React.
 */
export function sendOnce<R>(
  action: SubmitAction<R>,
  form: FormData,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Reply<R>> {
  const late = settle(action, form);
  return Promise.race([late, sleep(timeoutMs, signal).then((): Reply<R> => ({ type: 'asked', by: 'run', late }))]);
}

async function settle<R>(action: SubmitAction<R>, form: FormData): Promise<Reply<R>> {
  try {
    const outcome = await action(null, form);
    return isOutcome(outcome) ? { type: 'answered', outcome } : { type: 'lost' };
  } catch (thrown) {
    const digest = String((thrown as { digest?: unknown } | null)?.digest);
    if (digest.startsWith('NEXT_REDIRECT')) return { type: 'navigated' };
    // Everything else, from `Failed to fetch` to a masked server error, leaves open whether it was executed.
    const isStale = (thrown as Error | null)?.name === 'UnrecognizedActionError';
    return { type: 'lost', thrown: digest.startsWith('NEXT_') ? thrown : undefined, isStale };
  }
}
