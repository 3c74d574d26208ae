import { hash } from 'node:crypto';
import { derivedUuid } from '../core/key.ts';
import type { Refusal } from '../core/outcome.ts';
import type { Run } from '../engine/call-result.ts';
import type { Operation } from '../engine/operation.ts';
import { deliverable, responseOf, storedResponse } from '../engine/response.ts';
import { problemResponse } from '../http/problem.ts';

interface Answering {
  operation: Pick<Operation<never, never>, 'name' | 'errorPages'>;
  request: Request;
  key: string | undefined;
  /** True where the method may be repeated without a key (H1). */
  isIdempotent: boolean;
  /** False: the key is one of ours, of which the caller knows nothing. */
  isTheirs: boolean;
  /** Names of headers that a replay repeats besides the usual ones. */
  headers: readonly string[];
  /** The headers of the response that this very call has made. */
  fresh: Headers | undefined;
  render(result: unknown): Promise<Response>;
  mismatchStatus: 422 | 409 | undefined;
}

/** A run as an HTTP answer: the stored one, a redirect, or a problem. */
export async function answerRoute<Result>(run: Run<Result>, how: Answering): Promise<Response> {
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
  return responseOf({ ...response, headers: deliverable(how.fresh) });
}

/** See Other, whatever a framework's redirect says: 307 would have the client send the POST there, too. */
export function seeOther(url: string): Response {
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
