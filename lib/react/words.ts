import type { Outcome } from '../core/outcome.ts';
import type { Message, Messages } from './labels.ts';
import type { IdempotentSubmit } from './use-idempotent-submit.ts';

/** What is said in the present state: never nothing, but when idle. */
export function wordsFor<R>(
  submit: Pick<IdempotentSubmit<R>, 'status' | 'result' | 'recovered' | 'isPending' | 'isAbsent' | 'notice'>,
  words: Partial<Messages<R>>,
): string {
  const { result, notice, isPending } = submit;
  const say = (key: keyof Messages) => wordsOf(words[key], result);
  // Between two attempts of ours nobody has to do anything, and nothing new is read out.
  const status = submit.status === 'unknown' && isPending ? 'retrying' : submit.status;
  const refusal = result?.ok === false && (say(result.code) || result.message);
  // It comes with the refusal that it is the message of, or from the status route.
  if (notice) return `${say(status)} ${(result?.ok === false && result.message === notice && refusal) || notice}`;
  if (submit.isAbsent) return say('absent');
  if (status === 'hasSucceeded' && submit.recovered) return say('recovered');
  // The answer that made us check, such as a mismatch, says why.
  return ((status === 'hasErrored' || status === 'checking') && refusal) || say(status);
}

/** A message in words; nothing where there is none. */
export function wordsOf<R>(message: Message<R> | undefined, outcome: Outcome<R> | null): string {
  return (typeof message === 'function' ? message(outcome) : message) ?? '';
}
