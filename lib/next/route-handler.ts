import { hash } from 'node:crypto';
import { jsonText } from '../core/data.ts';
import { derivedUuid } from '../core/key.ts';
import { assertKnownOptions, listOf, optionNames, returned } from '../core/options.ts';
import { executedBy, type Refusal, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import type { Run } from '../engine/call-result.ts';
import { isFinal } from '../engine/handler.ts';
import { UnkeptAnswer } from '../engine/kept.ts';
import type { Operation } from '../engine/operation.ts';
import { firstDelivery, repeatedHeaders, responseOf, storedResponse } from '../engine/response.ts';
import { problemResponse } from '../http/problem.ts';
import { readBody, readBytes } from '../http/read-body.ts';
import { callerLimits, keyOfHeader } from '../http/request-headers.ts';
import { RollbackRedirect } from './rollback-redirect.ts';

/** The second argument that Next gives a route handler. */
interface RouteContext {
  params: Promise<Record<string, string | string[] | undefined>>;
}

/** How a route reads its request and makes its answer. Each has a default that is safe. */
export interface RouteHandlerOptions<Result> {
  /**
   * Makes the response of what the operation returned, from nothing else. Made before the key settles, and stored: what
   * it throws rolls back, and so does a status that is not for good (500 and above, 408, 423, 425, 429), but behind a foreign call.
   * For a key that a worker has finished it is made at each replay, whatever its status. Default: the result as JSON, with text for BigInt and Decimal, lists for Map and Set, which `Response.json` does not know. Not asked where the operation itself returned a `Response`.
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

const OPTIONS = optionNames<RouteHandlerOptions<never>>()(
  'respond input key strictHeader guardDelete mismatchStatus headers acceptKeys',
);

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
    let fresh: Response | undefined;
    const render = async (result: unknown) => {
      fresh = result instanceof Response ? result : await respond(result as Result);
      return fresh;
    };
    const run = await operation.run({
      key: keyed.key,
      keyless: !keyed.isTheirs,
      payload: undefined,
      read: async () => {
        const payload = await readBody(request);
        const { input } = options;
        if (!input) return { payload };
        const made = input(payload, { params: (await context?.params) ?? {}, url: new URL(request.url) });
        return { payload, input: returned(`input of ${operation.name}`, made) };
      },
      context: [pathOf(request)],
      method: request.method,
      headers: () => request.headers,
      response: { headers, render },
      ...callerLimits(request.headers),
      ...(acceptKeys && keyed.isTheirs ? { acceptKeys } : {}),
    });
    // Reads what nobody wants, so that the refusal of a request arrives whose body was not looked at: see `readBytes`.
    if (!request.bodyUsed) await readBytes(request, 0).catch(() => {});
    // Of this call's own making alone: a follower shares the error, but a body can be read only once.
    const { thrown } = run;
    if (fresh && thrown instanceof UnkeptAnswer && thrown.answer.response === fresh && mayPassOn(run, keyed))
      return fresh;
    if (thrown instanceof RollbackRedirect) return seeOther(thrown.url);
    if (isControlFlow(thrown)) throw thrown; // notFound() and its like: Next answers
    const how = { operation, request, headers, render, fresh, mismatchStatus: options.mismatchStatus, ...keyed };
    try {
      return await answerRoute(run, how);
    } catch (error) {
      // The answer of a key that a worker has finished cannot be rendered. Its effect stands.
      const key = run.outcome.key ?? '';
      const instance = operation.report(error, { key, during: 'respond' });
      const executed = executedBy(run.outcome.ok ? 'answer' : 'none');
      const { errorPages } = operation;
      return problemResponse(refuse('internal', { executed, key }), request, { instance, errorPages });
    }
  };
}

/**
 * Tells whether a response may be passed on that was not kept. Not where something may come of the key all the same: neither
 * to a client without a key, who would do it a second time, nor one that says how it has ended.
 */
function mayPassOn({ outcome, thrown }: Run<unknown>, { isTheirs, isIdempotent }: Keyed): boolean {
  if (outcome.ok || outcome.executed === false) return true;
  return (isTheirs || isIdempotent) && thrown instanceof UnkeptAnswer && !isFinal(thrown.answer.status);
}

/**
 * The caller's key; or none, where none is asked for: each such request is an intent of its own.
 *
 * @returns `isTheirs`: false for a key of ours, of which the caller knows nothing; `isIdempotent`: true where the method may be
 *   repeated without a key (H1)
 */
function keyOf(
  { method, headers }: Request,
  { key = 'required', strictHeader, guardDelete = false }: RouteHandlerOptions<never>,
) {
  const isIdempotent = method !== 'POST' && method !== 'PATCH';
  const isGuarded = !isIdempotent || (method === 'DELETE' && guardDelete);
  const theirs = isGuarded ? (keyOfHeader(headers.get('idempotency-key'), strictHeader) ?? undefined) : undefined;
  return { key: theirs, isTheirs: theirs !== undefined || (isGuarded && key === 'required'), isIdempotent };
}

type Keyed = Readonly<ReturnType<typeof keyOf>>;

/** Part of the intent: one key for the refunds of two orders is a mismatch, not a replay (F1). */
function pathOf({ url }: Request): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

function asJson(result: unknown): Response {
  if (result === undefined) return new Response(null, { status: 204 });
  return new Response(jsonText(result), { headers: { 'Content-Type': 'application/json' } });
}

/** What an answer is made of besides its run. */
interface Answering extends Keyed {
  operation: Pick<Operation<never, never>, 'name' | 'errorPages'>;
  request: Request;
  /** Names of headers that a replay repeats besides the usual ones. */
  headers: readonly string[];
  /** The response that this very call has made. Its body is read. */
  fresh: Response | undefined;
  render(result: unknown): Promise<Response>;
  mismatchStatus: 422 | 409 | undefined;
}

/** A run as an HTTP answer: the stored one, a redirect, or a problem. */
async function answerRoute<Result>(run: Run<Result>, how: Answering): Promise<Response> {
  const { outcome, redirect } = run;
  if (!outcome.ok) return problem(outcome, run, how);
  if (redirect) return marked(seeOther(redirect.url), run, how);
  return marked(await responseTo(run, outcome.data, how), run, how);
}

/** The stored response. A key that a worker has finished has no response yet: it is made of the stored result. */
async function responseTo<Result>({ outcome, response }: Run<Result>, data: Result, how: Answering): Promise<Response> {
  if (!response) return responseOf(await storedResponse(await how.render(data), how.headers));
  // Of a replay, `fresh` would be what a run of this call has made that was rolled back.
  if (!how.fresh || outcome.replayed) return responseOf(response);
  // The first answer has all its headers, such as cookies; its body is the stored one, to the byte (R1).
  return firstDelivery(response, how.fresh);
}

/** See Other, whatever a framework's redirect says: 307 would have the client send the POST there, too. */
function seeOther(url: string): Response {
  const Location = url.toWellFormed().replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent); // a header is ASCII
  return new Response(null, { status: 303, headers: { Location } });
}

function problem<Result>(refusal: Refusal, run: Run<Result>, how: Answering): Response {
  const { nextKey, ...rest } = refusal;
  const shown = how.isTheirs ? rest : { ...rest, key: undefined };
  const answer = problemResponse(shown as Refusal, how.request, {
    status: refusal.code === 'payload_mismatch' ? how.mismatchStatus : run.status,
    instance: refusal.code === 'failed' ? instanceOf(how, refusal) : run.instance,
    // Without a key, what may have been done would be done a second time.
    mayRepeat: how.isTheirs || how.isIdempotent || refusal.executed === false,
    errorPages: how.operation.errorPages,
  });
  return refusal.code === 'failed' ? marked(answer, run, how) : withNextKey(answer, nextKey);
}

/** The same name in each replay of one stored refusal (R1): a UUID made of what it is of. */
function instanceOf({ operation, key }: Answering, { reason }: Refusal): string {
  return `urn:uuid:${derivedUuid(hash('sha256', JSON.stringify([operation.name, key, reason])))}`;
}

/** Says whether it was run or replayed, and how long the answer is kept (H3). */
function marked<Result>(response: Response, { outcome, expiresAt }: Run<Result>, { isTheirs }: Answering): Response {
  if (!isTheirs) return response;
  withNextKey(response, outcome.nextKey);
  response.headers.set('Idempotency-Status', outcome.replayed ? 'replayed' : 'stored');
  if (expiresAt) response.headers.set('Idempotency-Key-Expires', expiresAt.toUTCString());
  return response;
}

/** For clients that do not make their own keys (K6). In a header, because a body is replayed as it was. */
function withNextKey(response: Response, nextKey: string | undefined): Response {
  if (nextKey !== undefined) response.headers.set('Idempotency-Next-Key', `"${nextKey}"`);
  return response;
}
