import { isKey } from '../core/scope.ts';

/** A string of structured fields (RFC 9651, 3.3.3): in quotes, with `\"` and `\\`. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/**
 * The key in an `Idempotency-Key` header (K1): a structured-field string, or the bare token unless `strict`. What holds
 * no key comes back as it is, for the engine to refuse; null when there is no such header. Two headers arrive joined by
 * a comma, which no key holds.
 */
export function keyOfHeader(header: string | null, strict = false): string | null {
  if (header === null) return null;
  const [, quoted] = QUOTED.exec(header.trim()) ?? [];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])/g, '$1') || MALFORMED;
  if (strict || !isKey(header.trim())) return MALFORMED;
  return header.trim();
}

/** No key: `key_malformed`, where an empty one would be `key_missing`. */
const MALFORMED = '"';

const MAX_TIMEOUT_MS = 600_000;

/**
 * The caller's own limits (H4): `X-Request-Timeout`, in milliseconds, and `X-Retry-Layer: none`, by
 * which a layer that retries asks those below not to multiply that. What is no number is not understood, and ignored.
 */
export function callerLimits(headers: Headers): { deadlineMs?: number; innerRetries: boolean } {
  const timeout = headers.get('x-request-timeout')?.trim() ?? '';
  const innerRetries = headers.get('x-retry-layer')?.trim().toLowerCase() !== 'none';
  return /^\d{1,12}$/.test(timeout)
    ? { deadlineMs: Math.min(Number(timeout), MAX_TIMEOUT_MS), innerRetries }
    : { innerRetries };
}
