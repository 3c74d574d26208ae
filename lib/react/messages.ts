import type { Status } from './state.ts';
import type { IdempotentSubmit } from './use-idempotent-submit.ts';

/** The words of `<SubmitStatus>`, one for each status and for what needs words of its own. Translate all of them. */
export type Messages = Record<Status | 'absent' | 'recovered' | 'checkAgain' | 'startOver' | 'show', string>;

/** English. `idle` is silent. `hasErrored` speaks only where the answer has no message of its own. */
export const defaultMessages: Messages = {
  idle: '',
  executing: 'Sending…',
  retrying: 'We are trying again. It will be done only once.',
  offline: 'You are offline. It will be sent once you are back online.',
  unknown: 'We do not know yet whether it went through. Sending it again is safe.',
  checking: 'We are checking whether it went through.',
  hasSucceeded: 'It went through.',
  hasErrored: 'This could not be done.',
  hasNavigated: 'Taking you there…',
  absent: 'We could not find it. Sending it again is safe.',
  recovered: 'This was already sent, and it went through.',
  checkAgain: 'Check again',
  startOver: 'Start over',
  show: 'Show it',
};

/** What is said in the present state: never nothing, but when idle. */
export function wordsFor(
  submit: Pick<IdempotentSubmit<unknown>, 'status' | 'result' | 'recovered' | 'isPending' | 'isAbsent' | 'notice'>,
  messages: Messages,
): string {
  const { result, isPending } = submit;
  // Between two attempts of ours nobody has to do anything, and nothing new is read out.
  const status = submit.status === 'unknown' && isPending ? 'retrying' : submit.status;
  if (submit.notice) return `${messages[status]} ${submit.notice}`;
  if (submit.isAbsent) return messages.absent;
  if (status === 'hasSucceeded' && submit.recovered) return messages.recovered;
  // The answer that made us check, such as a mismatch, says why.
  const speaks = status === 'hasErrored' || status === 'checking';
  return (speaks && result?.ok === false && result.message) || messages[status];
}
