import { copyOf } from '../core/data.ts';
import { ConfigurationError } from '../core/errors.ts';
import { redirectOf } from '../core/redirect.ts';
import type { Scope } from '../core/scope.ts';
import type { Answer } from './answer.ts';
import { type ResponseOptions, storedResponse } from './response.ts';

/** The argument of a handler. Everything it does through `tx` is committed together with the key, or not at all. */
export interface HandlerContext<Input, Tx, Reason extends string = string> {
  /** The payload, as the schema has parsed it: a copy for each try. */
  input: Input;
  /** The transaction, with your own models. Use nothing else for what must happen once. */
  tx: Tx;
  /** The idempotency key, for logs and for linking rows. */
  key: string;
  /** Whose key it is. */
  scope: Scope;
  /** The arguments that were bound to an action. They count in the fingerprint. */
  context: readonly unknown[];
  /**
   * Gives a value that a retry must not invent again: an id, a time, a price. Transactions that are tried again
   * after a conflict get the value of the first try.
   */
  capture: <T>(name: string, make: () => T | Promise<T>) => Promise<T>;
  /** Ends in a stored refusal, which every retry replays. Throws, so nothing behind it runs. */
  fail: Fail<Reason>;
  /**
   * Runs once the transaction has committed, in the process that executed; not on replays, and not if the process
   * dies in between. The answer waits for it until the caller's deadline. For warming a cache, not for anything that
   * must happen.
   */
  afterCommit: (run: () => void | Promise<void>) => void;
}

/** Runs behind the COMMIT of an execution. */
export type AfterCommit = () => void | Promise<void>;

/**
 * Ends in a stored refusal. What the handler wrote so far is committed with it, so check before you write, or undo in
 * `onRefused`.
 *
 * @param code shows as `reason` in the outcome
 * @param data plain data for the caller; stored and replayed
 */
export type Fail<Reason extends string = string> = (
  code: Reason,
  data?: unknown,
  how?: { status?: number; message?: string },
) => never;

export type RefusalAnswer = Extract<Answer, { kind: 'refusal' }>;

/** Thrown by `fail`. */
class RefusedByHandler extends Error {
  override readonly name = 'RefusedByHandler';
  readonly answer: RefusalAnswer;

  constructor(answer: RefusalAnswer) {
    super(`Refused: ${answer.reason}`);
    this.answer = answer;
  }
}

/** A refusal as it is stored, with what was left out filled in. */
export function refusalAnswer(
  reason: string,
  data?: unknown,
  { status = 422, message = 'This could not be done.' }: { status?: number; message?: string } = {},
): RefusalAnswer {
  if (!isRefusalStatus(status)) {
    throw new ConfigurationError(`The refusal ${reason} has a status that is none of a refusal.`, {
      existing: status,
      expected: '400 to 599',
    });
  }
  return { kind: 'refusal', reason, message, status, data };
}

export function isRefusalStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
}

export const fail: Fail = (code, data, how) => {
  throw new RefusedByHandler(refusalAnswer(code, data, how));
};

/** The values that `capture` has given out: the same ones for every try of one execution. */
export function createCapture(): HandlerContext<never, never>['capture'] {
  const values = new Map<string, Promise<unknown>>();
  return async <T>(name: string, make: () => T | Promise<T>): Promise<T> => {
    const made = values.get(name) ?? Promise.resolve().then(make);
    values.set(name, made);
    // A value that could not be made is no value: the next try makes it.
    made.catch(() => values.delete(name));
    // What one try changes of it, the next one must not see.
    return copyOf((await made) as T);
  };
}

/** Runs a handler or a step to what it has come to: its value, its refusal or its redirect. Anything else it throws is thrown on. */
export async function runToEnd<A>(run: (argument: A) => Promise<unknown>, argument: A): Promise<Answer> {
  try {
    return { kind: 'data', data: await run(argument) };
  } catch (thrown) {
    return answerThrown(thrown);
  }
}

/** The answer with the response that a route makes of its value, or that the value is. What is made may end otherwise, too. */
export async function withResponse(answer: Answer, how: ResponseOptions | undefined): Promise<Answer> {
  if (answer.kind !== 'data') return answer;
  const { data } = answer;
  if (!how && !(data instanceof Response)) return answer;
  try {
    const made = how ? await how.render(data) : (data as Response);
    const response = await storedResponse(made, how?.headers);
    return data instanceof Response ? { kind: 'response', response } : { kind: 'data', data, response };
  } catch (thrown) {
    return answerThrown(thrown);
  }
}

/** The two of them: a function's answer, with its response where a route asks. */
export async function runToAnswer<A>(
  run: (argument: A) => Promise<unknown>,
  argument: A,
  how?: ResponseOptions,
): Promise<Answer> {
  return await withResponse(await runToEnd(run, argument), how);
}

function answerThrown(thrown: unknown): Answer {
  if (thrown instanceof RefusedByHandler) return thrown.answer;
  const redirect = redirectOf(thrown);
  if (redirect) return { kind: 'redirect', redirect };
  throw thrown;
}
