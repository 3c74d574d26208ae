import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type ConformanceCase,
  caseOf,
  caseWith,
  type Endpoint,
  type EndpointAnswer,
  fits,
  holds,
  isSuccess,
  type Sent,
  same,
  shown,
} from './endpoint.ts';

const UUID_URN = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SETTLES_WITHIN_MS = 30_000;

/** Requests that are refused, each by another code (H2). */
const REFUSED: readonly [code: string, request: (api: Endpoint, key: string) => Sent][] = [
  ['key_missing', (api) => ({ body: api.target.body() })],
  ['key_malformed', (api) => ({ rawKey: '"no key"', body: api.target.body() })],
  ['malformed_body', (_, key) => ({ key, raw: '{' })],
  ['unsupported_media_type', (_, key) => ({ key, raw: 'hello', headers: { 'Content-Type': 'text/plain' } })],
];

/** Methods, problems, headers and budgets. */
export const httpCases: readonly ConformanceCase[] = [
  caseOf('methods', 'GET, HEAD, OPTIONS and PUT need no key', async (api) => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) {
      const answer = await api.send({ method, ...(method === 'PUT' ? { body: api.target.body() } : {}) });
      const asks = answer.json.code === 'key_missing' || answer.status >= 500;
      holds(`${method} without a key`, !asks, shown(answer), 'an answer that asks for no key');
    }
  }),
  ...REFUSED.map(([code, request]) =>
    caseOf('problem details', `${code}`, async (api) => {
      const key = randomUUID();
      const sent = request(api, key);
      isProblem(await api.send(sent), code, sent.key ?? undefined);
    }),
  ),
  caseOf('problem details', 'payload_mismatch', async (api) => {
    const { key } = await api.executesNew();
    isProblem(await api.send({ key, body: api.target.otherBody() }), 'payload_mismatch', key);
  }),
  caseOf('problem details', 'the type is a page that exists, or leads nowhere', async (api) => {
    for (const [, request] of REFUSED) {
      const type = String((await api.send(request(api, randomUUID()))).json.type);
      fits('type', type, new RegExp(`^(${NO_PAGE}$|https?://)`));
      const { origin } = new URL(api.target.origin);
      // No page, or one of somebody else's server, which is not asked.
      if (!type.startsWith(`${origin}/`)) continue;
      same(`The page ${type}`, (await api.send({ method: 'GET', path: type, as: {} })).status, 200);
    }
  }),
  caseOf('problem details', 'each refusal has a name of its own', async (api) => {
    const names = [await api.send({ body: api.target.body() }), await api.send({ body: api.target.body() })];
    holds('instance', names[0]?.json.instance !== names[1]?.json.instance, names[0]?.json.instance, 'two names');
  }),
  caseWith('refusedBody')('problem details', 'failed, with the reason', async (api) => {
    const key = randomUUID();
    const answer = await api.send({ key, body: api.target.refusedBody() });
    isProblem(answer, 'failed', key);
    fits('reason', answer.json.reason, /./);
  }),
  caseWith('invalidBody')('problem details', 'validation, with the fields', async (api) => {
    const key = randomUUID();
    const answer = await api.send({ key, body: api.target.invalidBody() });
    isProblem(answer, 'validation', key);
    const { fieldErrors } = answer.json;
    holds('fieldErrors', Object.keys(fieldErrors ?? {}).length > 0, fieldErrors, 'at least one field');
  }),
  caseOf('first answer', 'stored, then replayed', async (api) => {
    await api.replays(await api.executesNew());
  }),
  caseOf('first answer', 'a mismatch tells nothing of the first answer', async (api) => {
    const { key, first } = await api.executesNew();
    const mismatch = await api.refuses({ key, body: api.target.otherBody() }, 422, 'payload_mismatch');
    const told = `${mismatch.text} ${JSON.stringify(mismatch.headers)}`;
    for (const secret of secretsOf(first, key)) holds('What is told', !told.includes(secret), told, `no ${secret}`);
    for (const name of ['location', 'etag', 'idempotency-status']) same(name, mismatch.headers[name], undefined);
  }),
  caseOf('time budget', 'a budget of 1 ms: executed at most once, and found again', async (api) => {
    const request = api.newRequest();
    const first = await api.send({ ...request, headers: { 'X-Request-Timeout': '1' } });
    const isHonest = isSuccess(first) || first.status === 503 || first.status === 409;
    holds('Within 1 ms', isHonest, shown(first), 'a success, 503 or 409');
    if (!isSuccess(first)) holds('Retry-After', Number(first.headers['retry-after']) >= 1, first.headers, 'at least 1');
    await settles(api, request);
    await api.replays(request);
    await api.hasEffects(request.key, 1);
  }),
  caseOf('time budget', 'a budget that is no number is ignored', async (api) => {
    for (const budget of ['', 'soon', '-1', '1e9', '99999999999999999999']) {
      await api.executes({ key: randomUUID(), headers: { 'X-Request-Timeout': budget, 'X-Retry-Layer': 'none' } });
    }
  }),
];

/** The type of a problem that has no page (RFC 9457, 4.2.1). */
const NO_PAGE = 'about:blank';

/** All that a problem must say (RFC 9457 and H2). */
function isProblem({ status, headers, json }: EndpointAnswer, code: string, key: string | undefined): void {
  same('code', json.code, code);
  fits('Content-Type', headers['content-type'], /^application\/problem\+json\b/);
  same('status', json.status, status);
  fits('type', json.type, new RegExp(`^(${NO_PAGE}|https?://.+/${code})$`));
  if (json.type !== NO_PAGE) {
    fits('Link', headers.link, /rel="?describedby"?/);
    holds('Link', String(headers.link).includes(`<${json.type}>`), headers.link, `<${json.type}>`);
  }
  fits('title', json.title, /./);
  fits('detail', json.detail, /./);
  fits('instance', json.instance, UUID_URN);
  const isSaid = [true, false, 'unknown'].includes(json.executed as never);
  holds('executed', isSaid, json.executed, "true, false or 'unknown'");
  fits('retry', json.retry, /^(never|same-key|new-key)$/);
  same('key', json.key, key);
}

/** Sends it again as it is asked to, until it is answered for good. */
async function settles(api: Endpoint, request: Sent): Promise<void> {
  const deadline = performance.now() + SETTLES_WITHIN_MS;
  for (;;) {
    const answer = await api.send(request);
    if (isSuccess(answer)) return;
    const mayGoOn = (answer.status === 409 || answer.status === 503) && performance.now() < deadline;
    holds('The same key, sent again', mayGoOn, shown(answer), 'a success in the end');
    await wait(Number(answer.headers['retry-after']) * 1000);
  }
}

/** The parts of an answer that nobody could guess: its longer strings, but for the key. */
function secretsOf({ json, headers }: EndpointAnswer, key: string): string[] {
  const values = [...Object.values(json), headers.location, headers.etag];
  return values.filter((value): value is string => typeof value === 'string' && value.length >= 8 && value !== key);
}
