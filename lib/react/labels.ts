import type { Code } from '../core/codes.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Cause, Status } from './submission/state.ts';

/** A text, or a function that makes it from the latest answer: from its data, its code, the reason of a refusal. */
export type Message<R> = string | ((outcome: Outcome<R> | null) => string);

/**
 * The texts of `<SubmitStatus>`: one for each status, and one for each case that needs its own. A refusal brings its own
 * message, unless there is one for its code here.
 */
export type Messages<R = unknown> = Record<
  Status | Cause | 'recovered' | 'repeated' | 'checkAgain' | 'startOver' | 'sendAgain' | 'show',
  Message<R>
> &
  Partial<Record<Code, Message<R>>>;

/** The texts of the states in which a form may stay without the part that loads later. The others: recovery/later-status.ts. */
export const FIRST_LABELS = {
  executing: 'Sending…',
  unknown: 'We do not know yet whether it went through. Sending it again is safe.',
  hasSucceeded: 'It went through.',
  checkAgain: 'Check again',
} satisfies Partial<Messages>;
