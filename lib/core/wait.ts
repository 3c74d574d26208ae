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
