import { ADVICE } from '../core/codes.ts';
import { jsonText } from '../core/data.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import { isKey } from '../core/scope.ts';
import { disconnected, type TestOperation } from './test-operation.ts';

type Served = Pick<TestOperation<unknown>, 'name' | 'status' | 'fence' | 'isDown'>;

/**
 * Answers the status route's questions (GET and DELETE `<url>/<operation>/<key>`) for these operations by taking over
 * `fetch`, in the page or in jsdom; every other request goes where it went before. Call what it returns to give `fetch`
 * back.
 *
 * ```ts
 * const stop = serveStatus([orders]);
 * afterEach(stop);
 * ```
 *
 * @param url as `statusUrl` of the form. Default `/api/idempotency`
 */
export function serveStatus(operations: readonly Served[], url = '/api/idempotency'): () => void {
  const before = globalThis.fetch;
  let isServing = true;
  const serve: typeof fetch = async (input, init) => {
    const request = input instanceof Request ? input : { url: String(input), method: init?.method ?? 'GET' };
    const { pathname } = new URL(request.url, 'http://localhost');
    if (!isServing || !pathname.startsWith(`${url}/`)) return await before(input, init);
    init?.signal?.throwIfAborted();
    const asked = pathname.slice(url.length + 1);
    const [name, key = ''] = asked.split('/').map(decodeURIComponent);
    const operation = operations.find((one) => one.name === name);
    if (operation?.isDown) throw disconnected();
    return operation ? answer(operation, key, request.method) : problem(refuse('not_found'));
  };
  globalThis.fetch = serve;
  return () => {
    isServing = false; // the function that has taken over since may go on to call this one
    if (globalThis.fetch === serve) globalThis.fetch = before;
  };
}

function answer(operation: Served, key: string, method: string): Response {
  if (!isKey(key)) return problem(refuse('key_malformed'));
  if (method !== 'DELETE') return json(200, operation.status(key));
  const fenced = operation.fence(key);
  if ('ok' in fenced) return problem(fenced);
  const { state, nextKey } = fenced;
  return state === 'abandoned' ? json(200, { state, nextKey }) : json(409, fenced);
}

function problem({ code, message, executed, retry, nextKey }: Refusal): Response {
  const { status } = ADVICE[code];
  const body = { status, detail: message, message, code, executed, retry, nextKey };
  return json(status, body, 'application/problem+json');
}

function json(status: number, body: object, type = 'application/json'): Response {
  return new Response(jsonText(body), { status, headers: { 'Content-Type': type } });
}
