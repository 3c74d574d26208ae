import type { NextRequest } from 'next/server.js';
import { jsonText } from '../core/data.ts';
import { assertSetUp, tryOr } from '../core/errors.ts';
import type { KeyStatus } from '../core/key-state.ts';
import { admission, assertKnownOptions, optionNames } from '../core/options.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import type { Idempotency } from '../engine/idempotency.ts';
import type { Operation } from '../engine/operation.ts';
import type { FenceResult, KeyRequest } from '../engine/status.ts';
import { problemResponse, retryAfter } from '../http/problem.ts';
import { type CallerLimit, callerLimit } from './rate-limit.ts';

/** An operation, as far as the status route needs it. */
type AnyOperation = Pick<Operation<never, unknown>, 'name' | 'status' | 'fence' | 'whoActs'> &
  Partial<Pick<Operation<never, unknown>, 'errorPages' | 'addressHeader' | 'explainMissing'>>;

/** `createIdempotency`'s result, which knows the operations that were imported. */
type Registry = Pick<Idempotency<never>, 'operations' | 'explainMissing' | 'errorPages' | 'addressHeader'>;

/** The operations that a route is given. */
type Known = Registry | AnyOperation | readonly AnyOperation[];

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

const OPTIONS = optionNames<StatusRouteOptions>()('limit admit');

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
  const find = finderIn(known);
  const [first = {}] = [known].flat();
  const { explainMissing, errorPages, addressHeader }: Partial<AnyOperation> = first;
  const counted = limit ? callerLimit(limit, addressHeader) : undefined;
  const handler = (ask: Ask) => async (request: Request) => {
    const [name, key] = new URL(request.url).pathname.split('/').filter(Boolean).slice(-2).map(decode);
    const problem = (refusal: Refusal) => problemResponse(refusal, request, { errorPages, forForm: true });
    if (name === undefined || key === undefined) return problem(refuse('not_found'));
    const limited = (retryAfterMs: number) => problem(refuse('rate_limited', { retryAfterMs }));
    const fromThere = counted?.byAddress(request) ?? true;
    if (fromThere !== true) return limited(fromThere);
    const admitted = admission('admit of statusRoute', await admit(request));
    if (admitted !== true) return limited(admitted);
    const operation = find(name);
    // Without an operation by address alone: else anybody could have the app asked who acts by making names up.
    const principal = operation ? await operation.whoActs() : null;
    const allowed = counted?.byCaller(request, principal) ?? true;
    if (allowed !== true) return limited(allowed);
    if (!operation) {
      const message = await explainMissing?.({ operation: name, key });
      return problem(refuse('not_found', message && process.env.NODE_ENV === 'development' ? { message } : {}));
    }
    const status = await ask(operation, { key, scope: principal ?? undefined });
    if (!('ok' in status)) return answer(status, request);
    return problemResponse(status, request, { errorPages: operation.errorPages, forForm: true });
  };
  return {
    GET: handler((operation, asked) => operation.status(asked)),
    DELETE: handler((operation, asked) => operation.fence(asked)),
  };
}

/**
 * Finds operations by name. Of `idempotency` at each request: a module may be imported late.
 *
 * @throws ConfigurationError where two of them have one name: they would tell each other's answers (K4)
 */
function finderIn(known: Known): (name: string) => AnyOperation | undefined {
  if ('operations' in known) return (wanted) => known.operations().find(({ name }) => name === wanted);
  const operations = [known].flat();
  const byName = new Map<string, AnyOperation>();
  for (const operation of operations) {
    const { name } = operation;
    assertSetUp(
      (byName.get(name) ?? operation) === operation,
      `Two operations of the status route have the name ${name}. Rename one of them.`,
      { existing: operations.map((each) => each.name), expected: 'a name of its own for each operation' },
    );
    byName.set(name, operation);
  }
  return (name) => byName.get(name);
}

type Ask = (operation: AnyOperation, asked: KeyRequest) => ReturnType<AnyOperation['status' | 'fence']>;

/** A status, the tombstone, or the state of the key that was faster than it. */
function answer(found: KeyStatus<unknown> | FenceResult<unknown>, request: Request): Response {
  if (!('fenced' in found)) return json(200, found, request);
  if (found.fenced) return json(200, { state: 'abandoned', nextKey: found.nextKey }, request);
  const { fenced, ...status } = found;
  return json(409, status, request);
}

function json(status: number, body: Partial<KeyStatus<unknown>>, request: Request): Response {
  const headers = new Headers({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  if (body.retryAfterMs !== undefined) headers.set('Retry-After', retryAfter(body.retryAfterMs));
  // Where the answer leads, as Next's router would have followed it. The browser half goes there by itself.
  const { basePath = '' } = (request as Partial<NextRequest>).nextUrl ?? {};
  const redirect = /^\/(?!\/)/.test(body.redirect ?? '') ? `${basePath}${body.redirect}` : body.redirect;
  return new Response(jsonText({ ...body, redirect }), { status, headers });
}

const decode = (segment: string) => tryOr(() => decodeURIComponent(segment));
