import { ADVICE } from '../core/codes.ts';
import { copyOf } from '../core/data.ts';
import { assertSetUp } from '../core/errors.ts';
import { redirectOf } from '../core/redirect.ts';
import type { Scope } from '../core/scope.ts';
import type { Answer } from './answer.ts';

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
  /** The arguments that were bound to an action. They count in the fingerprint. Each try has them as they were sent. */
  context: readonly unknown[];
  /**
   * Gives a value that a retry must not invent again: an id, a time, a price. Transactions that are tried again
   * after a conflict get the value of the first try.
   */
  capture: <T>(name: string, make: () => T | Promise<T>) => Promise<T>;
  /** Ends in a stored refusal, which every retry replays. Throws, so nothing behind it runs. */
  fail: Fail<Reason>;
  /** Puts it off: everything rolls back, and the same key may be sent again. Throws, so nothing behind it runs. */
  defer: Defer<Reason>;
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
 * @param how `status`: 400 to 499, and none that asks to come again; default 422
 */
export type Fail<Reason extends string = string> = <Status extends number = number>(
  code: Reason,
  data?: unknown,
  how?: { status?: Status & FinalStatus<Status>; message?: string },
) => never;

/** A client that is told one of these statuses comes again, and must not be told the same for good. */
const COME_AGAIN = [408, 423, 425, 429] as const;

export const isFinal = (status: number) => status < 500 && !(COME_AGAIN as readonly number[]).includes(status);

/** A status as a refusal may have it that is kept for good. */
export type FinalStatus<Status extends number> = Status extends number
  ? `${Status}` extends `5${string}` | `${(typeof COME_AGAIN)[number]}`
    ? never
    : Status
  : never;

/**
 * Puts the intent off. What the handler wrote so far is rolled back, nothing is stored, and no error is reported. In phases what was
 * finished stands, and a worker goes on with the key by itself: after `retryAfterMs` at the earliest, or an hour.
 *
 * Behind a foreign call that may have been done nothing can be rolled back: there it ends as `fail` does, which is reported.
 *
 * @param reason shows as `reason` in the outcome
 * @param how `status`: 400 to 599, default 503; `retryAfterMs`: when to send it again, in milliseconds, default 1000
 */
export type Defer<Reason extends string = string> = (
  reason: Reason,
  how?: { status?: number; retryAfterMs?: number; message?: string },
) => never;

export type RefusalAnswer = Extract<Answer, { kind: 'refusal' }>;

/** The end of a handler, of phases or of a step, before it is known whether it is kept. */
export type Ended =
  | Extract<Answer, { kind: 'redirect' }>
  /** `isThrown`: a Response that was. */
  | { kind: 'data'; data: unknown; isThrown?: boolean }
  | EndedRefusal;

/** `later`: it was put off, with words that are untrue once it is kept. */
type EndedRefusal = RefusalAnswer & { later?: { retryAfterMs: number; message: string } };

/** Thrown by `fail` and `defer`. */
class RefusedByHandler extends Error {
  override readonly name = 'RefusedByHandler';
  readonly ended: EndedRefusal;

  constructor(ended: EndedRefusal) {
    super(`Refused: ${ended.reason}`);
    this.ended = ended;
  }
}

/** A refusal as it is stored, with what was left out filled in. */
export function refusalAnswer(
  reason: string,
  data?: unknown,
  { status = 422, message = ADVICE.failed.message }: { status?: number; message?: string | undefined } = {},
): RefusalAnswer {
  const unfit = `The refusal ${reason} has a reason or a status that is none of a refusal's.`;
  const expected = "400 to 599, and a reason of your own: marked_failed is a person's word in the admin view";
  assertSetUp(reason !== 'marked_failed' && isRefusalStatus(status), unfit, { existing: status, expected });
  return { kind: 'refusal', reason, message, status, data };
}

export function isRefusalStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599;
}

export const fail: Fail = (code, data, how) => {
  throw new RefusedByHandler(refusalAnswer(code, data, how));
};

export const defer: Defer = (reason, { status = 503, retryAfterMs = 1000, message } = {}) => {
  const unfit = `What is put off as ${reason} has no time to come again.`;
  const expected = 'retryAfterMs: milliseconds, 0 or more';
  assertSetUp(Number.isFinite(retryAfterMs) && retryAfterMs >= 0, unfit, { existing: retryAfterMs, expected });
  const later = { retryAfterMs, message: message ?? ADVICE.deferred.message };
  throw new RefusedByHandler({ ...refusalAnswer(reason, undefined, { status, message }), later });
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
export async function runToEnd<A>(run: (argument: A) => Promise<unknown>, argument: A): Promise<Ended> {
  try {
    return { kind: 'data', data: await run(argument) };
  } catch (thrown) {
    return endThrown(thrown);
  }
}

/** The end that was thrown: a refusal, a redirect, a Response. Anything else is thrown on. */
export function endThrown(thrown: unknown): Ended {
  if (thrown instanceof RefusedByHandler) return thrown.ended;
  if (thrown instanceof Response) return { kind: 'data', data: thrown, isThrown: true };
  const redirect = redirectOf(thrown);
  if (redirect) return { kind: 'redirect', redirect };
  throw thrown;
}
