import { assertKnownOptions, listOf, type OptionNames } from '../core/options.ts';
import { executedBy, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import type { ExecuteRequest } from '../engine/definition.ts';
import type { Operation } from '../engine/operation.ts';
import { repeatedHeaders, ServerErrorResponse } from '../engine/response.ts';
import { plainJson, problemResponse } from '../http/problem.ts';
import { dropBody, readBody } from '../http/read-body.ts';
import { callerLimits, keyOfHeader } from '../http/request-headers.ts';
import { RollbackRedirect } from './rollback-redirect.ts';
import { answerRoute, seeOther } from './route-response.ts';

/** The second argument that Next gives a route handler. */
interface RouteContext {
  params: Promise<Record<string, string | string[] | undefined>>;
}

/** How a route reads its request and makes its answer. Each has a default that is safe. */
export interface RouteHandlerOptions<Result> {
  /**
   * Makes the response of what the operation returned, from nothing else. Made before the key settles, and stored: what
   * it throws rolls back, and so does a status of 500 or above. For a key that a worker has finished it is made at each
   * replay. Default: the result as JSON, with text for BigInt and Decimal. Not asked where the operation itself returned a `Response`.
   */
  respond?: (result: Result) => Response | Promise<Response>;
  /** The value that the schema checks. Default: the body. Path and query count in the fingerprint whatever it takes of them. */
  input?: (body: unknown, route: { params: Record<string, string | string[] | undefined>; url: URL }) => unknown;
  /**
   * `optional`: without a key each request is an intent of its own, and one that is sent again is done again. Default
   * `required`.
   */
  key?: 'required' | 'optional';
  /** True: the key must be a string of structured fields, in quotes. Default false: the bare token will do, too. */
  strictHeader?: boolean;
  /** DELETE needs a key, too: where it reverses something and is not merely the absence of a thing. Default false. */
  guardDelete?: boolean;
  /** Default 422. Some clients expect 409, which to others says "try again". */
  mismatchStatus?: 422 | 409;
  /** Headers of the response that a replay repeats, besides those that describe it (Content-Type, Location, ETag, …). */
  headers?: string | readonly string[];
  /** Default: as the operation says, or else `any`: API clients make their own keys. */
  acceptKeys?: 'minted' | 'any';
}

const OPTIONS: OptionNames<RouteHandlerOptions<never>> = {
  respond: true,
  input: true,
  key: true,
  strictHeader: true,
  guardDelete: true,
  mismatchStatus: true,
  headers: true,
  acceptKeys: true,
};

/**
 * Next calls it for a request, and so can any server that speaks `Request` and `Response`. Two signatures, because
 * `next build --webpack` reads the last one and refuses a context that may be undefined.
 */
export interface RouteHandler {
  (request: Request): Promise<Response>;
  (request: Request, context: RouteContext): Promise<Response>;
}

/**
 * Makes an operation a route handler: `Request` in, `Response` out, for Next and any server that speaks them. POST and
 * PATCH need an `Idempotency-Key`, are executed once, and answered alike from then on: status, body, headers. The
 * other methods are idempotent by themselves and run each time. Refusals are problem details.
 *
 * ```ts
 * export const POST = routeHandler(createOrder, {
 *   respond: (order) => Response.json(order, { status: 201, headers: { Location: `/api/orders/${order.id}` } }),
 * });
 * ```
 *
 * Modelled on draft-ietf-httpapi-idempotency-key-header-07.
 */
export function routeHandler<Input, Result, Reason extends string>(
  operation: Operation<Input, Result, Reason>,
  options: RouteHandlerOptions<Result> = {},
): RouteHandler {
  assertKnownOptions('routeHandler', options, OPTIONS);
  const { respond = asJson, acceptKeys = operation.acceptKeys } = options;
  const headers = listOf(options.headers) ?? [];
  repeatedHeaders(headers); // told where the route is defined, not at its first request
  return async (request: Request, context?: RouteContext) => {
    const keyed = keyOf(request, options);
    let fresh: Headers | undefined;
    const render = async (result: unknown) => {
      const response = result instanceof Response ? result : await respond(result as Result);
      fresh = response.headers;
      return response;
    };
    const run = await operation.run({
      key: keyed.key,
      keyless: !keyed.isTheirs,
      payload: undefined,
      read: () => read(request, context, options),
      context: [pathOf(request)],
      headers: () => request.headers,
      response: { headers, render },
      ...callerLimits(request.headers),
      ...(acceptKeys && keyed.isTheirs ? { acceptKeys } : {}),
    });
    await dropBody(request);
    // Of this call's own making alone: a follower shares the error, but a body can be read only once.
    const { thrown } = run;
    if (thrown instanceof ServerErrorResponse && thrown.response.headers === fresh) return thrown.response;
    if (thrown instanceof RollbackRedirect) return seeOther(thrown.url);
    if (isControlFlow(thrown)) throw thrown; // notFound() and its like: Next answers
    const how = { operation, request, headers, render, fresh, ...keyed };
    try {
      return await answerRoute(run, { ...how, mismatchStatus: options.mismatchStatus });
    } catch (error) {
      // The answer of a key that a worker has finished cannot be rendered. Its effect stands.
      const key = run.outcome.key ?? '';
      const instance = operation.report(error, { key, during: 'respond' });
      const executed = executedBy(run.outcome.ok ? 'answer' : 'none');
      return problemResponse(refuse('internal', { executed, key }), request, {
        instance,
        errorPages: operation.errorPages,
      });
    }
  };
}

/** The caller's key; or none, where none is asked for: each such request is an intent of its own. */
function keyOf<Result>(
  { method, headers }: Request,
  { key = 'required', strictHeader, guardDelete = false }: RouteHandlerOptions<Result>,
): { key: string | undefined; isTheirs: boolean; isIdempotent: boolean } {
  const isIdempotent = method !== 'POST' && method !== 'PATCH';
  const isGuarded = !isIdempotent || (method === 'DELETE' && guardDelete);
  const theirs = isGuarded ? (keyOfHeader(headers.get('idempotency-key'), strictHeader) ?? undefined) : undefined;
  return { key: theirs, isTheirs: theirs !== undefined || (isGuarded && key === 'required'), isIdempotent };
}

async function read<Result>(
  request: Request,
  context: RouteContext | undefined,
  { input }: RouteHandlerOptions<Result>,
): Promise<Pick<ExecuteRequest, 'payload' | 'input'>> {
  const payload = await readBody(request);
  if (!input) return { payload };
  return { payload, input: input(payload, { params: (await context?.params) ?? {}, url: new URL(request.url) }) };
}

/** Part of the intent: one key for the refunds of two orders is a mismatch, not a replay (F1). */
function pathOf({ url }: Request): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

function asJson(result: unknown): Response {
  if (result === undefined) return new Response(null, { status: 204 });
  return new Response(JSON.stringify(result, plainJson), { headers: { 'Content-Type': 'application/json' } });
}
