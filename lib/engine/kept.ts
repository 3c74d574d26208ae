import { parseRetryAfter } from '../core/backoff.ts';
import { assertSetUp, CodedError } from '../core/errors.ts';
import { returned } from '../core/options.ts';
import type { Refusal } from '../core/outcome.ts';
import type { Answer } from './answer.ts';
import { type Ended, endThrown, isFinal, type RefusalAnswer } from './handler.ts';
import { noAnswer, type ResponseOptions, storedResponse } from './response.ts';

/** An answer, as `keep` is asked about it: a success, a refusal by `fail`, or the Response that was returned. */
export type AnswerToKeep =
  | { ok: true; data: unknown }
  | { ok: false; reason: string; status: number; data: unknown }
  | Response;

/** The rule for the answers of one execution. */
interface Keeping {
  options: { name: string; keep?: (answer: AnswerToKeep) => boolean };
  /**
   * There behind a foreign call that may have been done, where nothing can be taken back and everything is kept: told of an answer
   * that would not have been.
   */
  onKept?: ((error: unknown) => void) | undefined;
}

/** An answer that is not kept. It is thrown, which rolls back, and passed on to whoever asks. */
export class UnkeptAnswer extends CodedError {
  override readonly name = 'UnkeptAnswer';
  /** `response`: what a route passes on; the rest is for the outcome. */
  readonly answer: { status: number; response?: Response } & Partial<Refusal>;

  constructor(code: 'internal' | 'deferred' | 'not_kept', answer: UnkeptAnswer['answer']) {
    super(code, `It was answered with ${answer.status}, which is not kept.`, { retryAfterMs: answer.retryAfterMs });
    this.answer = answer;
  }
}

/** True for an answer of the app's own; false for an error, also one that has a Response. */
export function isPassedOn(error: unknown): error is UnkeptAnswer {
  return error instanceof UnkeptAnswer && error.code !== 'internal';
}

/**
 * The answer that an end is, as it is stored, with the response that a route makes of its value, or that the value is.
 *
 * @throws UnkeptAnswer for one that is not kept; ConfigurationError as `keptRefusal`; and as `storedResponse` does
 */
export async function answerOf(ended: Ended, how: ResponseOptions | undefined, rule: Keeping): Promise<Answer> {
  if (ended.kind === 'redirect') return ended;
  if (ended.kind === 'refusal') return keptRefusal(ended, rule);
  const { data, isThrown = false } = ended;
  if (!how && !(data instanceof Response)) {
    if (isKept({ ok: true, data }, { status: 200, isPutOff: false }, rule)) return { kind: 'data', data };
    throw new UnkeptAnswer('not_kept', { status: 200, data });
  }
  let made: Response;
  try {
    made = how ? await how.render(data) : (data as Response);
  } catch (thrown) {
    return await answerOf(endThrown(thrown), how, rule); // what makes it may end otherwise, too
  }
  const asked = data instanceof Response ? data : { ok: true as const, data };
  const { status } = made;
  if (!isKept(asked, { status, isPutOff: isThrown }, rule)) throw unkeptResponse(made);
  const response = await storedResponse(made, how?.headers);
  return data instanceof Response ? { kind: 'response', response } : { kind: 'data', data, response };
}

export function unkeptResponse(response: Response): CodedError {
  const { status, headers } = response;
  if (status < 200) return noAnswer();
  const code = status >= 500 ? 'internal' : isFinal(status) ? 'not_kept' : 'deferred';
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'), Date.now());
  return new UnkeptAnswer(code, { status, response, retryAfterMs });
}

/**
 * A refusal as it is stored.
 *
 * @throws UnkeptAnswer where it is put off, or `keep` says no
 * @throws ConfigurationError for a `fail` whose status says that it is not for good
 */
export function keptRefusal(ended: Extract<Ended, { kind: 'refusal' }>, rule: Keeping): RefusalAnswer {
  const { later, ...refusal } = ended;
  const { reason, message, status, data } = refusal;
  const isPutOff = later !== undefined;
  const forGood = `The refusal ${reason} would be kept for good. Else write \`defer\`.`;
  const expected = '400 to 499, and none of 408, 423, 425, 429';
  assertSetUp(isPutOff || isFinal(status) || rule.onKept, forGood, { existing: status, expected });
  if (isKept({ ok: false, reason, status, data }, { status, isPutOff }, rule)) {
    return isFinal(status) ? refusal : { ...refusal, status: 422 };
  }
  throw new UnkeptAnswer(isPutOff ? 'deferred' : 'not_kept', { status, reason, message, data, ...later });
}

/** The one rule. `isPutOff`: it was thrown as a Response, or by `defer`. */
function isKept(
  answer: AnswerToKeep,
  { status, isPutOff }: { status: number; isPutOff: boolean },
  { options: { name, keep }, onKept }: Keeping,
): boolean {
  const isFinalByItself = isFinal(status) && !isPutOff;
  if (onKept) {
    const words = `An answer of ${name} with ${status} is kept for good, as a foreign call before it may have been done.`;
    if (!isFinalByItself) onKept(new CodedError('internal', words));
    return true;
  }
  if (isPutOff || status >= 500) return false;
  if (!keep) return isFinalByItself;
  return returned<boolean>(`keep of ${name}`, keep(answer), (said) => typeof said === 'boolean', 'true or false');
}
