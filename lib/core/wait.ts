/** A value, or the promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/**
 * True for a value that must be waited for, told as `await` tells it: promises of another realm or library count, too.
 *
 * `await` makes two promises of a value that is there already, and each promise costs a call of the hooks of whoever uses
 * AsyncLocalStorage. On the way of every call of an operation, that is more than the work.
 */
export function isPromised<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** Goes on with a value: at once where it is there already, else when it comes. */
export function proceed<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPromised(value) ? Promise.resolve(value).then(next) : next(value);
}

/** The longest that a timer can wait, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds, or at once when the signal aborts; it never rejects. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    // A signal may live as long as a page: each wait takes its listener with it.
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, LONGEST_MS));
    signal.addEventListener('abort', done);
  });
}

/**
 * Waits for a promise, and no longer than `ms` milliseconds: then the result is what `late` returns, or throws. The work
 * goes on, and its result is not heard any more. Leaves no timer behind.
 *
 * @param keepsAlive false: the wait alone keeps no process of Node's from ending
 */
export function settleWithin<T, Late>(
  promise: PromiseLike<T>,
  ms: number,
  late: () => Late,
  { keepsAlive = true }: { keepsAlive?: boolean } = {},
): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const expire = () => resolve(new Promise((settle) => settle(late()))); // it may throw
    const timer: { unref?(): void } | number = setTimeout(expire, Math.min(ms, LONGEST_MS));
    // A browser's timer is a number.
    if (!keepsAlive && typeof timer === 'object') timer.unref?.();
    promise.then(resolve, reject).then(() => clearTimeout(timer as number));
  });
}

/**
 * Ends with the signal, also when the work takes no notice of it. The work goes on, and its result is not heard any more.
 *
 * @throws the signal's reason
 */
export async function untilAborted<R>(signal: AbortSignal, begin: () => Promise<R>): Promise<R> {
  signal.throwIfAborted(); // an event that has been does not come again
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([begin(), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Something that comes once: those who wait for it await `reached`. */
export function moment(): { reached: Promise<void>; reach: () => void } {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  return { reached, reach };
}
