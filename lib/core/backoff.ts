/**
 * How waits grow: `baseMs` is what the first retry waits at most, `capMs` what any retry waits at most. The limit of each
 * wait that is counted is `factor` times the one before it; default 2.
 */
export interface Backoff {
  baseMs: number;
  capMs: number;
  factor?: number;
}

/**
 * Full jitter: a random wait between nothing and an exponentially growing cap, which spreads a herd of retries best.
 * Source: Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param attempt 1 for the first retry
 * @param random between 0 and 1
 * @returns milliseconds
 */
export function fullJitter(attempt: number, how: Backoff, random: number): number {
  return Math.round(random * ceiling(attempt, how));
}

/**
 * Equal jitter: half of the growing cap for certain, the other half at random. Never waits next to nothing, as full
 * jitter may; a herd stays closer together for it. Source: as above.
 *
 * @param attempt 1 for the first retry
 * @param random between 0 and 1
 * @returns milliseconds
 */
export function equalJitter(attempt: number, how: Backoff, random: number): number {
  const half = ceiling(attempt, how) / 2;
  return Math.round(half + random * half);
}

/**
 * Decorrelated jitter: between the base and three times the wait before this one, at most the cap. It grows by chance
 * rather than by count. Source: as above.
 *
 * @param previousMs what the last retry waited; `baseMs` before the first
 * @param random between 0 and 1
 * @returns milliseconds
 */
export function decorrelatedJitter(previousMs: number, { baseMs, capMs }: Backoff, random: number): number {
  const most = Math.max(baseMs, previousMs * 3);
  return Math.round(Math.min(capMs, baseMs + random * (most - baseMs)));
}

function ceiling(attempt: number, { baseMs, capMs, factor = 2 }: Backoff): number {
  return Math.min(capMs, baseMs * factor ** (attempt - 1));
}

/**
 * How long `Retry-After` asks to wait (RFC 9110, 10.2.3): whole seconds, or an IMF-fixdate. `undefined` for anything
 * else: a header that cannot be read must not decide how long we wait. A date that has passed is 0.
 *
 * @param nowMs what the sender's clock shows, as far as it is known: by its `Date` header, else by ours
 * @returns milliseconds
 */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = parseHttpDate(text);
  return at === undefined ? undefined : Math.max(0, at - nowMs);
}

/**
 * An IMF-fixdate (RFC 9110, 5.6.7) as milliseconds since 1970, and nothing else: `Date.parse` takes far more, and not
 * everywhere the same. The two obsolete forms are not read.
 */
export function parseHttpDate(value: string | null): number | undefined {
  if (!value || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), .* GMT$/.test(value)) return;
  const at = new Date(value);
  // Of all that Date takes, this form alone is written so again: 31 February would be 3 March. The weekday is not looked at.
  return at.toUTCString().slice(5) === value.slice(5) ? at.getTime() : undefined;
}
