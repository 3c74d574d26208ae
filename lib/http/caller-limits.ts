const MOST_MS = 600_000;

/**
 * The caller's own limits (H4): `X-Request-Timeout`, in milliseconds, and `X-Retry-Layer: none`, by
 * which a layer that retries asks those below not to multiply that. What is no number is not understood, and ignored.
 */
export function callerLimits(headers: Headers): { deadlineMs?: number; innerRetries: boolean } {
  const timeout = headers.get('x-request-timeout')?.trim() ?? '';
  const innerRetries = headers.get('x-retry-layer')?.trim().toLowerCase() !== 'none';
  return /^\d{1,12}$/.test(timeout)
    ? { deadlineMs: Math.min(Number(timeout), MOST_MS), innerRetries }
    : { innerRetries };
}
