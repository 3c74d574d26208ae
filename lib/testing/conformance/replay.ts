import { type ConformanceCase, caseOf, caseWith, type EndpointAnswer, newKey, same } from './endpoint.ts';

const withRefusedBody = caseWith('refusedBody');
const withStatus = caseWith('statusPath');

/** Headers that describe an answer, and so come with each replay of it. */
const REPEATED = ['content-type', 'location', 'etag', 'content-language', 'last-modified'] as const;

/** Replays, stored refusals and keys that were given up. */
export const replayCases: readonly ConformanceCase[] = [
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
    const key = newKey();
    const body = api.target.refusedBody();
    const first = await api.send({ key, body });
    same('The code', first.json.code, 'failed');
    same('Idempotency-Status', first.headers['idempotency-status'], 'stored');
    repeats(await api.replays({ key, body }), first);
  }),
  withRefusedBody('refusal', 'a stored refusal holds its key: another body is a mismatch', async (api) => {
    const key = newKey();
    await api.send({ key, body: api.target.refusedBody() });
    await api.refuses({ key, body: api.body() }, 422, 'payload_mismatch');
  }),
  withStatus('giving up', 'the status route tells what became of a key', async (api) => {
    const key = newKey();
    const path = api.target.statusPath(key);
    same('Before', (await api.send({ method: 'GET', path })).json.state, 'absent');
    await api.executes({ key });
    same('After', (await api.send({ method: 'GET', path })).json.state, 'succeeded');
  }),
  withStatus('giving up', 'a fenced key is never executed', async (api) => {
    const key = newKey();
    const fenced = await api.send({ method: 'DELETE', path: api.target.statusPath(key) });
    same('The fence', [fenced.status, fenced.json.state], [200, 'abandoned']);
    await api.refuses({ key, body: api.body() }, 410, 'key_abandoned');
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
