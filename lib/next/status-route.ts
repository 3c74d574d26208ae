import type { NextRequest } from 'next/server.js';
import { ConfigurationError } from '../core/errors.ts';
import { refuse } from '../core/outcome.ts';
import type { Operation } from '../engine/operation.ts';
import type { KeyRequest } from '../engine/status.ts';
import { plainJson, problemResponse, retryAfter } from '../http/problem.ts';
import { type CallerLimit, callerLimit } from './rate-limit.ts';

type AnyOperation = Pick<Operation<never, unknown>, 'name' | 'status' | 'fence' | 'whoActs'> &
  Partial<Pick<Operation<never, unknown>, 'errorPages'>>;
type Handler = (request: Request) => Promise<Response>;

/** How often one caller may ask. */
export interface StatusRouteOptions {
  /**
   * Per process: a status costs a query or two, and a fence writes a row. People who are signed in are counted by
   * principal, all others by address, as far as `addressHeader` tells it. Default 120 requests in 30 s; false: none.
   */
  limit?: CallerLimit | false;
  /** A limit of your own, asked before each answer: `true`, or how many milliseconds to wait. */
  admit?: (request: Request) => Promise<true | number> | true | number;
}

/**
 * Tells the holder of a key what became of it (GET) and gives it up for good (DELETE, the fence). For
 * `app/api/idempotency/[operation]/[key]/route.ts`. Only keys of the caller's own scope are seen; a foreign one is
 * answered the same whether it was ever used or not.
 */
export function statusRoute(
  operations: readonly AnyOperation[],
  { limit = {}, admit = () => true }: StatusRouteOptions = {},
): { GET: Handler; DELETE: Handler } {
  const errorPages = operations[0]?.errorPages;
  const byName = namesOf(operations);
  const counted = limit ? callerLimit(limit) : () => true as const;
  const handler = (ask: Ask) => async (request: Request) => {
    const { operation, key } = askedOf(request, byName);
    if (!operation || key === undefined) return problemResponse(refuse('not_found'), request, { errorPages });
    let admitted = await admit(request);
    if (admitted === true) {
      const principal = await operation.whoActs();
      admitted = counted(request, principal);
      if (admitted === true) return await ask(operation, { key, scope: principal ?? undefined }, request);
    }
    const refusal = refuse('rate_limited', { retryAfterMs: admitted });
    return problemResponse(refusal, request, { errorPages });
  };
  return { GET: handler(getStatus), DELETE: handler(fence) };
}

function askedOf(request: Request, byName: ReadonlyMap<string, AnyOperation>) {
  const { pathname } = new URL(request.url);
  const [name, key] = pathname.split('/').filter(Boolean).slice(-2).map(decode);
  return { operation: name === undefined ? undefined : byName.get(name), key };
}

/** @throws ConfigurationError where two of them have one name: they would tell each other's answers (K4) */
function namesOf(operations: readonly AnyOperation[]): ReadonlyMap<string, AnyOperation> {
  const byName = new Map<string, AnyOperation>();
  for (const operation of operations) {
    const { name } = operation;
    if ((byName.get(name) ?? operation) !== operation) {
      throw new ConfigurationError(`Two operations of the status route have the name ${name}. Rename one of them.`, {
        existing: operations.map((each) => each.name),
        expected: 'a name of its own for each operation',
      });
    }
    byName.set(name, operation);
  }
  return byName;
}

type Ask = (operation: AnyOperation, asked: KeyRequest, request: Request) => Promise<Response>;

const getStatus: Ask = async (operation, asked, request) => {
  const status = await operation.status(asked);
  if ('ok' in status) return problemResponse(status, request, { errorPages: operation.errorPages });
  return json(200, underBasePath(status, request), status.retryAfterMs);
};

const fence: Ask = async (operation, asked, request) => {
  const result = await operation.fence(asked);
  if ('ok' in result) return problemResponse(result, request, { errorPages: operation.errorPages });
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
