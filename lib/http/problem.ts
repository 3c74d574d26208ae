import { randomUUID } from 'node:crypto';
import { ADVICE, type Code, type Refusal } from '../core/outcome.ts';

/** Codes for which trying again, with the same key, can help (H2). */
const RETRYABLE: ReadonlySet<Code> = new Set([
  'in_flight',
  'outcome_unknown',
  'rate_limited',
  'unavailable',
  'internal',
]);

/**
 * A refusal as problem details (RFC 9457). `type` leads to the error's page at the app's own origin.
 *
 * @param status the status the handler stored, where it differs from the code's own
 */
export function problemResponse(
  refusal: Refusal,
  origin: string,
  status: number = ADVICE[refusal.code].status,
): Response {
  const page = `${origin}/docs/errors/${refusal.code}`;
  const headers = new Headers({
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    Link: `<${page}>; rel="describedby"`,
  });
  if (refusal.retryAfterMs !== undefined) headers.set('Retry-After', retryAfter(refusal.retryAfterMs));
  const body = {
    type: page,
    title: refusal.code.replaceAll('_', ' '),
    status,
    detail: refusal.message,
    instance: `urn:uuid:${randomUUID()}`,
    code: refusal.code,
    retryable: RETRYABLE.has(refusal.code),
    idempotency_key: refusal.key ?? null,
    ...(refusal.nextKey === undefined ? {} : { nextKey: refusal.nextKey }),
  };
  return new Response(JSON.stringify(body), { status, headers });
}

/** `Retry-After` in whole seconds, at least 1. */
export function retryAfter(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}
