import { randomUUID } from 'node:crypto';
import {
  type ConformanceCase,
  caseOf,
  caseWith,
  type EndpointAnswer,
  holds,
  isSuccess,
  same,
  shown,
} from './endpoint.ts';

const whereOthersAct = caseWith('otherHeaders');
const withInvalidBody = caseWith('invalidBody');
const withRefusedBody = caseWith('refusedBody');
const withStatus = caseWith('statusPath');

/** How many of one key at once. */
const DUPLICATES = 12;

/** Headers that describe an answer, and so come with each replay of it. */
const REPEATED = ['content-type', 'location', 'etag', 'content-language', 'last-modified'] as const;

/** The order of checks, requests that come at the same time, replays, stored refusals, and keys that were given up. */
export const callCases: readonly ConformanceCase[] = [
  whereOthersAct('order of checks', 'a bad key is told before a missing principal', async (api) => {
    await api.refuses({ rawKey: '"no key"', as: {}, raw: '{' }, 400, 'key_malformed');
  }),
  whereOthersAct(
    'order of checks',
    'a missing principal is told before a bad body, and nothing is executed',
    async (api) => {
      const key = randomUUID();
      await api.refuses({ key, as: {}, raw: '{' }, 401, 'unauthorized');
      await api.refuses({ key, as: {}, body: api.target.body() }, 401, 'unauthorized');
      await api.isUnused(key);
    },
  ),
  caseOf('order of checks', 'a body that cannot be read consumes no key', async (api) => {
    await api.refusesUnused({ raw: '{' }, 400, 'malformed_body');
  }),
  withInvalidBody('order of checks', 'a failed validation consumes no key', async (api) => {
    const key = randomUUID();
    for (const _ of [1, 2]) await api.refuses({ key, body: api.target.invalidBody() }, 400, 'validation');
    await api.isUnused(key);
  }),
  withInvalidBody('used keys', 'a used key decides before validation: mismatch', async (api) => {
    const { key } = await api.executesNew();
    await api.mismatches({ key, body: api.target.invalidBody() });
  }),
  caseOf('used keys', 'a used key does not decide before the body is read', async (api) => {
    const { key } = await api.executesNew();
    await api.refuses({ key, raw: '{' }, 400, 'malformed_body');
  }),
  caseOf('duplicates', `${DUPLICATES} at once: one is executed, the others replay or are told to wait`, async (api) => {
    const { key, body } = api.newRequest();
    const answers = await Promise.all(Array.from({ length: DUPLICATES }, () => api.send({ key, body })));
    const stored = answers.filter(({ headers }) => headers['idempotency-status'] === 'stored');
    same('How many were executed', stored.length, 1);
    for (const answer of answers) {
      if (isSuccess(answer)) {
        same('The body of each success', answer.text, stored[0]?.text);
        continue;
      }
      holds('Of the others, each', answer.json.code === 'in_flight', shown(answer), 'a replay, or in_flight');
      holds('Retry-After', Number(answer.headers['retry-after']) >= 1, answer.headers['retry-after'], 'at least 1');
    }
    same('The replay', (await api.replays({ key, body })).text, stored[0]?.text);
    await api.hasEffects(key, 1);
  }),
  caseOf('duplicates', 'two payloads at once: one is executed, the other is never', async (api) => {
    const key = randomUUID();
    const bodies = [api.target.body(), api.target.otherBody()];
    const answers = await Promise.all(bodies.map((body) => api.send({ key, body })));
    same('How many were executed', answers.filter(isSuccess).length, 1);
    const loser = answers.findIndex((answer) => !isSuccess(answer));
    await api.mismatches({ key, body: bodies[loser] });
  }),
  caseOf('replay', 'a replay has the same status, headers and body, to the byte', async (api) => {
    const { key, body, first } = await api.executesNew();
    for (const _ of [1, 2, 3]) repeats(await api.replays({ key, body }), first);
    await api.hasEffects(key, 1);
  }),
  caseOf('replay', 'a replay sets no cookie', async (api) => {
    const { key, body } = await api.executesNew();
    same('Set-Cookie', (await api.replays({ key, body })).headers['set-cookie'], undefined);
  }),
  withRefusedBody('refusal', 'a refusal by the operation is stored and replayed', async (api) => {
    const key = randomUUID();
    const body = api.target.refusedBody();
    const first = await api.send({ key, body });
    same('The code', first.json.code, 'failed');
    same('Idempotency-Status', first.headers['idempotency-status'], 'stored');
    repeats(await api.replays({ key, body }), first);
  }),
  withRefusedBody('refusal', 'a stored refusal holds its key: another body is a mismatch', async (api) => {
    const key = randomUUID();
    await api.send({ key, body: api.target.refusedBody() });
    await api.refuses({ key, body: api.target.body() }, 422, 'payload_mismatch');
  }),
  withStatus('giving up', 'the status route tells what became of a key', async (api) => {
    const key = randomUUID();
    const path = api.target.statusPath(key);
    same('Before', (await api.send({ method: 'GET', path })).json.state, 'absent');
    await api.executes({ key });
    same('After', (await api.send({ method: 'GET', path })).json.state, 'succeeded');
  }),
  withStatus('giving up', 'a fenced key is never executed', async (api) => {
    const key = randomUUID();
    const fenced = await api.send({ method: 'DELETE', path: api.target.statusPath(key) });
    same('The fence', [fenced.status, fenced.json.state], [200, 'abandoned']);
    await api.refuses({ key, body: api.target.body() }, 410, 'key_abandoned');
    await api.hasEffects(key, 0);
  }),
  withStatus('giving up', 'a settled key cannot be fenced', async (api) => {
    const { key, body } = await api.executesNew();
    const refused = await api.send({ method: 'DELETE', path: api.target.statusPath(key) });
    same('The fence', [refused.status, refused.json.state], [409, 'succeeded']);
    await api.replays({ key, body });
  }),
];

function repeats(replay: EndpointAnswer, first: EndpointAnswer): void {
  same('The status', replay.status, first.status);
  same('The body', replay.text, first.text);
  for (const name of REPEATED) same(name, replay.headers[name], first.headers[name]);
}
