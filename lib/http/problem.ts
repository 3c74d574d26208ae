import { STATUS_CODES } from 'node:http';
import { ADVICE, type Code, type Refusal } from '../core/outcome.ts';
import { originOf } from './origin.ts';

/**
 * The refusal in words for whoever calls an API. Those of `ADVICE` are for a person in front of a form. None of them advises
 * to send again: that depends on the request, too, and `retry` says it.
 */
const DETAIL: Record<Code, string> = {
  validation: 'The input does not fit the schema: see `fieldErrors`.',
  malformed_body: 'The body cannot be read.',
  unsupported_media_type: 'The Content-Type of the body is not accepted.',
  payload_too_large: 'The body is too large.',
  key_missing: 'The request has no idempotency key: send one in the header Idempotency-Key.',
  key_malformed: 'The idempotency key is not 1 to 255 visible ASCII characters without comma and quotes.',
  key_invalid:
    'The idempotency key was not issued to this caller for this operation, so this request was not executed.',
  key_expired:
    'The idempotency key is too old, so this request was not executed. What came of an earlier one is not kept.',
  key_abandoned: 'The idempotency key was given up before it was executed, and is never executed.',
  unauthorized: 'The request has no valid credentials.',
  precondition_failed: 'The resource has another version than the request says.',
  precondition_required: 'The request must say which version of the resource it changes, in the header If-Match.',
  not_found: 'There is nothing at this address.',
  payload_mismatch: 'The idempotency key was first sent with other content, so this request was not executed.',
  in_flight: 'The first request with this idempotency key is still being executed.',
  already_done: 'This was done already, under the idempotency key of another caller.',
  outcome_unknown: 'The first request with this idempotency key may have been executed: the server is finding out.',
  rate_limited: 'There were too many requests.',
  failed: 'The request was refused.',
  unavailable: 'The service is not available right now.',
  phase_mismatch: 'The operation was changed before this request was finished, so it cannot be finished.',
  result_unreadable: 'The request was executed. Its stored answer cannot be read.',
  result_too_large: 'The answer is too large to be stored, so the request was rolled back.',
  internal: 'Something went wrong on the server.',
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
  /** True: a form asks, and shows the refusal's own words, as `message`. Default false: `detail` is all that is said. */
  forForm?: boolean;
}

/**
 * A refusal as problem details (RFC 9457). Its members have the names of `Refusal`, but for `message`, which is `detail`: in
 * words for an API, unless the handler gave its own. `code` names the problem. `type` leads to its page where there are such
 * pages; elsewhere it is `about:blank`, for a link that leads nowhere is worse than none.
 */
export function problemResponse(refusal: Refusal, request: Request, options: ProblemOptions = {}): Response {
  const {
    status = ADVICE[refusal.code].status,
    instance = `urn:uuid:${crypto.randomUUID()}`,
    mayRepeat = true,
    errorPages,
    forForm = false,
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
    detail: refusal.message === ADVICE[refusal.code].message ? DETAIL[refusal.code] : refusal.message,
    instance,
    ...(forForm ? { message: refusal.message } : {}),
    code: refusal.code,
    executed: refusal.executed,
    retry: mayRepeat ? refusal.retry : 'never',
    ...given({
      retryAfterMs: mayRepeat ? refusal.retryAfterMs : undefined,
      key: refusal.key,
      nextKey: refusal.nextKey,
    }),
    ...detailsOf(refusal),
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
  return code === 'validation' ? given({ fieldErrors }) : {};
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
