import type { Code } from '../core/codes.ts';
import type { Outcome, Refusal } from '../core/outcome.ts';
import type { IdempotentSubmit } from './idempotent-submit.ts';
import type { Status } from './submission/state.ts';

/** A text, or a function that makes it from the latest answer: from its data, its code, the reason of a refusal. */
export type Message<R> = string | ((outcome: Outcome<R> | null) => string);

/**
 * The texts of `<SubmitStatus>`: one for each status, and one for each case that needs its own. A refusal brings its own
 * message, unless there is one for its code here.
 */
export type Messages<R = unknown> = Record<
  Status | 'absent' | 'recovered' | 'checkAgain' | 'startOver' | 'show',
  Message<R>
> &
  Partial<Record<Code, Message<R>>>;

/** The texts of the states that a form reaches without the part that loads later. The others: recovery/labels.ts. */
export const FIRST_LABELS = {
  executing: 'Sending…',
  unknown: 'We do not know yet whether it went through. Sending it again is safe.',
  checking: 'Checking whether it went through…',
  hasSucceeded: 'It went through.',
  hasNavigated: 'Taking you there…',
  checkAgain: 'Check again',
} satisfies Partial<Messages>;

/** Describes the present state to a person. It is empty only when idle. */
export function describeSubmit<R>(
  submit: Pick<IdempotentSubmit<R>, 'status' | 'result' | 'recovered' | 'isPending' | 'isAbsent' | 'notice'>,
  labels: Partial<Messages<R>>,
): string {
  const { result, notice, isPending } = submit;
  const label = (key: keyof Messages) => labelText(labels[key], result);
  // Between two attempts of ours nobody has to do anything, so the text stays and nothing new is read out.
  const status = submit.status === 'unknown' && isPending ? 'retrying' : submit.status;
  const { code, message } = (result ?? {}) as Partial<Refusal>; // only a refusal has them
  const refusal = code && (label(code) || message);
  // A notice comes with the refusal that it is the message of, or from the status route.
  if (notice) return `${label(status)} ${(message === notice && refusal) || notice}`;
  if (submit.isAbsent) return label('absent');
  if (status === 'hasSucceeded' && submit.recovered) return label('recovered');
  // The refusal that began a check, such as a mismatch, tells a person why we check.
  return ((status === 'hasErrored' || status === 'checking') && refusal) || label(status);
}

/** The text of a label, or an empty one where there is none. */
export function labelText<R>(label: Message<R> | undefined, outcome: Outcome<R> | null): string {
  return (typeof label === 'function' ? label(outcome) : label) ?? '';
}
