/**
 * Full jitter: a random wait between nothing and an exponentially growing cap, which spreads a herd of retries best.
 * Source: Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param attempt 1 for the first retry
 * @param random between 0 and 1
 * @returns milliseconds
 */
export function fullJitter(
  attempt: number,
  { baseMs, capMs }: { baseMs: number; capMs: number },
  random: number,
): number {
  return Math.round(random * Math.min(capMs, baseMs * 2 ** (attempt - 1)));
}
