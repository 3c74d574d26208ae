import type { Code, Outcome } from '../core/outcome.ts';
import { FIRST_MESSAGES } from './messages-first.ts';
import { LATER_MESSAGES } from './recovery/labels.ts';
import type { Status } from './submission/state.ts';

/** Words, or what makes them of the latest answer: of its data, its code, the reason of a refusal. */
export type Message<R> = string | ((outcome: Outcome<R> | null) => string);

/**
 * The words of `<SubmitStatus>`: one for each status, and for what needs words of its own. A refusal speaks for itself,
 * unless there are words for its code here.
 */
export type Messages<R = unknown> = Record<
  Status | 'absent' | 'recovered' | 'checkAgain' | 'startOver' | 'show',
  Message<R>
> &
  Partial<Record<Code, Message<R>>>;

/**
 * All default words, in English. `idle` is silent; `hasErrored` speaks only where the answer has no words of its own.
 * Replace the whole table for another language, or single keys.
 */
export const messages: Messages = { ...FIRST_MESSAGES, ...LATER_MESSAGES };
