import { refuse } from '../core/outcome.ts';
import type { Operation } from '../engine/operation.ts';
import { plainJson, problemResponse, retryAfter } from '../http/problem.ts';

type AnyOperation = Pick<Operation<never, unknown>, 'name' | 'status' | 'fence'>;
type Handler = (request: Request) => Promise<Response>;

/** How often one caller may ask. */
export interface StatusRouteOptions {
  /**
   * Asked before each answer: `true`, or how many milliseconds to wait. Limit it per principal: a status costs a
   * query or two, and a fence writes a row.
   */
  admit?: (request: Request) => Promise<true | number> | true | number;
}

/**
 * Tells the holder of a key what became of it (GET) and gives it up for good (DELETE, the fence). For
 * `app/api/idempotency/[operation]/[key]/route.ts`. Only keys of the caller's own scope are seen; a foreign one is
 * answered the same whether it was ever used or not (X1).
 */
export function statusRoute(
  operations: readonly AnyOperation[],
  { admit = () => true }: StatusRouteOptions = {},
): { GET: Handler; DELETE: Handler } {
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  const handler = (ask: Ask) => async (request: Request) => {
    const admitted = await admit(request);
    if (admitted === true) return await answer(request, byName, ask);
    const refusal = refuse('rate_limited', { executed: 'unknown', retryAfterMs: admitted });
    return problemResponse(refusal, request);
  };
  return { GET: handler(getStatus), DELETE: handler(fence) };
}

type Ask = (operation: AnyOperation, key: string, request: Request) => Promise<Response>;

async function answer(request: Request, byName: ReadonlyMap<string, AnyOperation>, ask: Ask): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [name, key] = pathname.split('/').filter(Boolean).slice(-2).map(decode);
  const operation = name === undefined ? undefined : byName.get(name);
  if (!operation || key === undefined) return problemResponse(refuse('not_found', { executed: false }), request);
  return await ask(operation, key, request);
}

const getStatus: Ask = async (operation, key, request) => {
  const status = await operation.status({ key });
  if ('ok' in status) return problemResponse(status, request);
  return json(200, status, status.retryAfterMs);
};

const fence: Ask = async (operation, key, request) => {
  const result = await operation.fence({ key });
  if ('ok' in result) return problemResponse(result, request);
  const { fenced, ...rest } = result;
  if (result.fenced) return json(200, { state: 'abandoned', nextKey: result.nextKey });
  return json(409, rest, 'retryAfterMs' in rest ? rest.retryAfterMs : undefined);
};

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
