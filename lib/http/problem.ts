import { STATUS_CODES } from 'node:http';
import { ADVICE } from '../core/codes.ts';
import { jsonText } from '../core/data.ts';
import { tryOr } from '../core/errors.ts';
import type { Refusal } from '../core/outcome.ts';

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
  const { status = ADVICE[refusal.code].status, instance = `urn:uuid:${crypto.randomUUID()}` } = options;
  const { mayRepeat = true, errorPages, forForm = false } = options;
  const retryAfterMs = mayRepeat ? refusal.retryAfterMs : undefined;
  const page = errorPages === undefined ? undefined : new URL(`${errorPages}/${refusal.code}`, originOf(request)).href;
  const headers = new Headers({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' });
  if (page) headers.set('Link', `<${page}>; rel="describedby"`);
  if (refusal.code === 'unauthorized') headers.set('WWW-Authenticate', 'Bearer'); // RFC 9110, 15.5.2
  if (retryAfterMs !== undefined) headers.set('Retry-After', retryAfter(retryAfterMs));
  // JSON leaves out what is undefined.
  const body = {
    type: page ?? 'about:blank',
    // Of `about:blank` it is the phrase of the status (RFC 9457, 4.2.1).
    title: (page ? undefined : STATUS_CODES[status]) ?? refusal.code.replaceAll('_', ' '),
    status,
    detail: refusal.message === ADVICE[refusal.code].message ? ADVICE[refusal.code].detail : refusal.message,
    instance,
    message: forForm ? refusal.message : undefined,
    code: refusal.code,
    executed: refusal.executed,
    retry: mayRepeat ? refusal.retry : 'never',
    retryAfterMs,
    key: refusal.key,
    nextKey: refusal.nextKey,
    ...detailsOf(refusal),
  };
  return new Response(jsonText(body), { status, headers });
}

/** `Retry-After` in whole seconds, at least 1. */
export function retryAfter(ms: number): string {
  return String(Math.min(Number.MAX_SAFE_INTEGER, Math.max(1, Math.ceil(ms / 1000))));
}

/**
 * The address at which the client has found us. Next's own server writes its `localhost` into `request.url`, whatever was
 * asked for. Use it for the client's own answer alone: a client may claim any address, and nobody else is to hear of it.
 */
function originOf({ url, headers }: Request): string {
  const first = (name: string) => headers.get(name)?.split(',')[0]?.trim();
  const host = first('x-forwarded-host') ?? headers.get('host');
  const proto = first('x-forwarded-proto')?.toLowerCase();
  const scheme = proto === 'http' || proto === 'https' ? proto : new URL(url).protocol.slice(0, -1);
  const asked = `${scheme}://${host}`;
  return new URL(host && URL.canParse(asked) ? asked : url).origin;
}

/** Given with the caller's own answer only (H3). */
function detailsOf({ code, reason, data, fieldErrors }: Refusal): object {
  // A stored value may refer to itself, and JSON has no words for that.
  if (code === 'failed' || code === 'deferred' || code === 'not_kept')
    return { reason, data: tryOr(() => jsonText(data) && data) };
  return code === 'validation' ? { fieldErrors } : {};
}
