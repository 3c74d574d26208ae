import { STATUS_CODES } from 'node:http';
import { ADVICE, type Code, type Refusal } from '../core/outcome.ts';
import { originOf } from './origin.ts';

/** True where trying again, with the same key and the same request, can help (H2). */
const RETRYABLE: Record<Code, boolean> = {
  validation: false,
  malformed_body: false,
  unsupported_media_type: false,
  payload_too_large: false,
  key_missing: false,
  key_malformed: false,
  key_invalid: false,
  key_expired: false,
  key_abandoned: false,
  unauthorized: false,
  precondition_failed: false,
  precondition_required: false,
  not_found: false,
  payload_mismatch: false,
  in_flight: true,
  outcome_unknown: true,
  rate_limited: true,
  failed: false,
  unavailable: true,
  phase_mismatch: false,
  result_unreadable: false,
  result_too_large: false,
  internal: true,
};

/** Details of one refusal that its code does not say. */
export interface ProblemOptions {
  /** The status the handler stored, where it differs from the code's own. */
  status?: number | undefined;
  /** The URN that names this one refusal, for the log and for support. Default: a new one. */
  instance?: string | undefined;
  /** False: the request has no key and may have been executed, so sending it again is no advice. Default true. */
  mayRepeat?: boolean;
  /** The address of the error pages: `idempotency.errorPages`. Default: there are none. */
  errorPages?: string | undefined;
}

/**
 * A refusal as problem details (RFC 9457). `code` names the problem. `type` leads to its page where there are such pages;
 * elsewhere it is `about:blank`, for a link that leads nowhere is worse than none.
 */
export function problemResponse(refusal: Refusal, request: Request, options: ProblemOptions = {}): Response {
  const {
    status = ADVICE[refusal.code].status,
    instance = `urn:uuid:${crypto.randomUUID()}`,
    mayRepeat = true,
    errorPages,
  } = options;
  const page = errorPages === undefined ? undefined : new URL(`${errorPages}/${refusal.code}`, originOf(request)).href;
  const headers = new Headers({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' });
  if (page) headers.set('Link', `<${page}>; rel="describedby"`);
  if (refusal.code === 'unauthorized') headers.set('WWW-Authenticate', 'Bearer'); // RFC 9110, 15.5.2
  if (refusal.retryAfterMs !== undefined && mayRepeat) headers.set('Retry-After', retryAfter(refusal.retryAfterMs));
  const body = {
    type: page ?? 'about:blank',
    // Of `about:blank` it is the phrase of the status (RFC 9457, 4.2.1).
    title: (page ? undefined : STATUS_CODES[status]) ?? refusal.code.replaceAll('_', ' '),
    status,
    detail: refusal.message,
    instance,
    code: refusal.code,
    executed: refusal.executed,
    retry: mayRepeat ? refusal.retry : 'never',
    retryable: mayRepeat && RETRYABLE[refusal.code],
    idempotency_key: refusal.key ?? null,
    ...detailsOf(refusal),
    ...given({ nextKey: refusal.nextKey }),
  };
  return new Response(JSON.stringify(body, plainJson), { status, headers });
}

/** `Retry-After` in whole seconds, at least 1. */
export function retryAfter(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

/** For `JSON.stringify`, which has no words for these. A date has one of its own (`toJSON`). */
export function plainJson(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

/** Of the caller's own answer; of nobody else's (H3). */
function detailsOf({ code, reason, data, fieldErrors }: Refusal): Record<string, unknown> {
  if (code === 'failed') return given({ reason, data: isJson(data) ? data : undefined });
  return code === 'validation' ? given({ errors: fieldErrors }) : {};
}

/** A stored value may refer to itself, and JSON has no words for that. */
function isJson(data: unknown): boolean {
  try {
    JSON.stringify(data, plainJson);
    return true;
  } catch {
    return false;
  }
}

function given(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
