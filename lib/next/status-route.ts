import type { NextRequest } from 'next/server.js';
import { assertKnownOptions, type OptionNames } from '../core/options.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import type { KeyRequest } from '../engine/status.ts';
import { plainJson, problemResponse, retryAfter } from '../http/problem.ts';
import { type AnyOperation, directoryOf, type Known } from './operation-directory.ts';
import { type CallerLimit, callerLimit } from './rate-limit.ts';

type Handler = (request: Request) => Promise<Response>;

/** How often one caller may ask. */
export interface StatusRouteOptions {
  /**
   * Per process: a status costs a query or two, and a fence writes a row. People who are signed in are counted by
   * principal, all others by address, as far as the kit's `addressHeader` tells it. Default 120 requests in 30 s; false: none.
   */
  limit?: CallerLimit | false;
  /** A limit of your own, asked before each answer: `true`, or how many milliseconds to wait. */
  admit?: (request: Request) => Promise<true | number> | true | number;
}

const OPTIONS: OptionNames<StatusRouteOptions> = { limit: true, admit: true };

/**
 * Tells the holder of a key what became of it (GET) and gives it up for good (DELETE, the fence). For
 * `app/api/idempotency/[operation]/[key]/route.ts`. Only keys of the caller's own scope are seen; a foreign one is
 * answered the same whether it was ever used or not.
 *
 * A bundle has only what it imports, so give it a list of your operations, or `idempotency` and import their modules beside it.
 * About a key that this app has signed for an operation that is not there, it says so on the console.
 *
 * @param known `createIdempotency`'s result, an operation, or a list of them
 */
export function statusRoute(known: Known, options: StatusRouteOptions = {}): { GET: Handler; DELETE: Handler } {
  assertKnownOptions('statusRoute', options, OPTIONS);
  const { limit = {}, admit = () => true } = options;
  const { find, explain, errorPages, addressHeader } = directoryOf(known);
  const counted = limit ? callerLimit(limit, addressHeader) : undefined;
  const handler = (ask: Ask) => async (request: Request) => {
    const { name, key } = askedOf(request);
    const problem = (refusal: Refusal) => problemResponse(refusal, request, { errorPages, forForm: true });
    if (name === undefined || key === undefined) return problem(refuse('not_found'));
    const limited = (retryAfterMs: number) => problem(refuse('rate_limited', { retryAfterMs }));
    const fromThere = counted?.byAddress(request) ?? true;
    if (fromThere !== true) return limited(fromThere);
    const admitted = await admit(request);
    if (admitted !== true) return limited(admitted);
    const operation = find(name);
    if (!operation) {
      // By address alone: to say what is missing asks the app who acts, which anybody could have done by making names up.
      const allowed = counted?.byCaller(request, null) ?? true;
      if (allowed !== true) return limited(allowed);
      const message = await explain?.({ operation: name, key });
      return problem(refuse('not_found', message && process.env.NODE_ENV === 'development' ? { message } : {}));
    }
    const principal = await operation.whoActs();
    const allowed = counted?.byCaller(request, principal) ?? true;
    return allowed === true ? await ask(operation, { key, scope: principal ?? undefined }, request) : limited(allowed);
  };
  return { GET: handler(getStatus), DELETE: handler(fence) };
}

function askedOf(request: Request) {
  const { pathname } = new URL(request.url);
  const [name, key] = pathname.split('/').filter(Boolean).slice(-2).map(decode);
  return { name, key };
}

type Ask = (operation: AnyOperation, asked: KeyRequest, request: Request) => Promise<Response>;

const getStatus: Ask = async (operation, asked, request) => {
  const status = await operation.status(asked);
  if ('ok' in status) return problemResponse(status, request, { errorPages: operation.errorPages, forForm: true });
  return json(200, underBasePath(status, request), status.retryAfterMs);
};

const fence: Ask = async (operation, asked, request) => {
  const result = await operation.fence(asked);
  if ('ok' in result) return problemResponse(result, request, { errorPages: operation.errorPages, forForm: true });
  const { fenced, ...rest } = result;
  if (result.fenced) return json(200, { state: 'abandoned', nextKey: result.nextKey });
  return json(409, underBasePath(rest, request), 'retryAfterMs' in rest ? rest.retryAfterMs : undefined);
};

/** A stored redirect, as Next's router would have followed it. The browser half goes there by itself. */
function underBasePath<T extends object>(answer: T & { redirect?: string }, request: Request): T {
  const { basePath = '' } = (request as Partial<NextRequest>).nextUrl ?? {};
  return /^\/(?!\/)/.test(answer.redirect ?? '') ? { ...answer, redirect: basePath + answer.redirect } : answer;
}

function json(status: number, body: unknown, retryAfterMs?: number): Response {
  const headers = new Headers({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  if (retryAfterMs !== undefined) headers.set('Retry-After', retryAfter(retryAfterMs));
  return new Response(JSON.stringify(body, plainJson), { status, headers });
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
