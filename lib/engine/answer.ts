import type { Address } from '../core/address.ts';
import { MAX_RESULT_BYTES, ResultTooLargeError, ResultUnreadableError } from '../core/errors.ts';
import { returned } from '../core/options.ts';
import type { Executed } from '../core/outcome.ts';
import type { Redirect } from '../core/redirect.ts';
import type { KeyId } from '../core/scope.ts';
import type { ErrorReporter } from './log.ts';
import { parseValue, stringifyValue } from './stored-value.ts';

/** An HTTP answer as it is stored with the key. */
export interface StoredResponse {
  status: number;
  headers: [name: string, value: string][];
  body: string | Uint8Array | null;
}

/**
 * The end of an execution, as it is stored with the key and replayed. `method`: of the route's request that it was made for, by which
 * a request of another method knows the row as none of its own. Older rows do not say.
 */
export type Answer = { method?: string } & AnswerOfKind;

type AnswerOfKind =
  /**
   * `response`: what a route made of it. A key that a worker has finished has none. `redirectTo`: the address that it leads to. An
   * older kit reads the data, and leads nowhere.
   */
  | { kind: 'data'; data: unknown; response?: StoredResponse; redirectTo?: string }
  /** The handler itself returned a `Response`. */
  | { kind: 'response'; response: StoredResponse }
  | { kind: 'redirect'; redirect: Redirect }
  /** `executed`: whether a foreign call of it has been done. Older rows do not say, and are told as `true`. */
  | { kind: 'refusal'; reason: string; message: string; status: number; data: unknown; executed?: Executed };

/**
 * Begins an answer that is a result alone, with nothing around it: most are. No JSON begins so, so that a kit which does
 * not know it finds the answer unreadable, and takes no result for a redirect or a refusal.
 */
const RESULT = 'd';

/** Options beside the function of an operation: they say what is stored with its result. */
export interface AnswerOptions<Result, To extends string = string> {
  /**
   * Makes the address that a success leads to, of nothing but the result: a worker may be the one who asks. Asked before the answer is
   * stored, and stored with it, so that a replay, the status of the key and `useLastSubmission` lead there, too. A server action redirects,
   * which without JavaScript is post/redirect/get; a route answers as without it. Undefined: nowhere.
   * A form whose answer was lost follows what begins with `/`, `.` or `http`.
   * What it throws is reported to `onError`, and undoes nothing. Not asked of a Response, nor of a `redirect()`. With Next's
   * `typedRoutes` it must be one of the app's routes.
   */
  redirectTo?: (data: Result) => Address<To> | undefined;
}

/** Of an address, in characters: as part of the answer a longer one could make that too large, which rolls back. */
const MAX_ADDRESS = 8192;

/**
 * Returns the answer with the address that the operation makes of its result. An error of that is reported, and undoes nothing: the
 * answer then leads nowhere.
 */
export function withAddress(
  answer: Answer,
  redirectTo: AnswerOptions<never>['redirectTo'],
  { engine, id: { operation, key } }: { engine: { config: { onError: ErrorReporter } }; id: KeyId },
): Answer {
  if (answer.kind !== 'data' || !redirectTo) return answer;
  try {
    const said = redirectTo(answer.data as never);
    const isAddress = (it: unknown) => typeof it === 'string' && it.length <= MAX_ADDRESS;
    const expected = `an address of at most ${MAX_ADDRESS} characters`;
    const to = returned<string>(`redirectTo of ${operation}`, said ?? '', isAddress, expected);
    return to === '' ? answer : { ...answer, redirectTo: to };
  } catch (error) {
    engine.config.onError(error, { operation, key, during: 'redirectTo' });
    return answer;
  }
}

/**
 * The stored form of an answer, with the method of the route's request. Date, BigInt, Decimal, Map, Set, RegExp, URL, typed arrays and undefined survive.
 *
 * @throws ResultTooLargeError over 256 KiB
 * @throws ConfigurationError for what cannot be stored: functions, promises, class instances
 */
export function encodeAnswer(answer: Answer, method?: string): string {
  const what = answer.kind === 'refusal' ? 'data of the refusal' : 'result';
  const isResult = answer.kind === 'data' && !answer.response && !answer.redirectTo && method === undefined;
  const whole = method === undefined ? answer : { ...answer, method };
  const text = isResult ? RESULT + stringifyValue(answer.data, what) : stringifyValue(whole, what, '.data');
  return withinLimit(text, 'answer');
}

/**
 * The stored form of a step's result, to be read by `decodeAnswer`. It is erased when its key settles, unless a person must see
 * it, so its size does not count; until then an older instance may take the key over, and must be able to read it.
 *
 * @param what for the errors: `result of order_created`
 * @param version of the data; 1 is not written, so that it is what a step without one has
 * @throws as `encodeAnswer` does
 */
export function encodeStep(what: string, data: unknown, version = 1): string {
  const step = { kind: 'data', data, ...(version === 1 ? {} : { version }) };
  return withinLimit(stringifyValue(step, what, '.data'), what);
}

function withinLimit(text: string, what: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_RESULT_BYTES) throw new ResultTooLargeError(what, bytes);
  return text;
}

/** @throws ResultUnreadableError when the text is not a stored answer, or was erased */
export function decodeAnswer(text: string | null): Answer {
  const expected = 'a stored answer';
  if (text === null)
    throw new ResultUnreadableError('result_unreadable', 'The stored answer was erased.', { expected });
  try {
    return text.startsWith(RESULT)
      ? { kind: 'data', data: parseValue(text.slice(RESULT.length)) }
      : (parseValue(text) as Answer);
  } catch {
    // Without the parser's error: it quotes what it could not read.
    const facts = { existing: `${text.length} characters that are none`, expected };
    throw new ResultUnreadableError('result_unreadable', 'The stored answer cannot be parsed.', facts);
  }
}
