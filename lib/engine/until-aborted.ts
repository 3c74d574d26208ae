/**
 * Ends with the signal, also when the work takes no notice of it. What was begun goes on, and whatever it comes to is
 * not heard any more.
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
