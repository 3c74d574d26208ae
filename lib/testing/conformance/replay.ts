import { type Answer, executes, executesNew, hasEffects, newKey, refuses, replays, same, send } from './checks.ts';
import { type ConformanceCase, caseOf, caseWith } from './target.ts';

const withRefusedBody = caseWith('refusedBody');
const withStatus = caseWith('statusPath');

/** Headers that describe an answer, and so come with each replay of it. */
const REPEATED = ['content-type', 'location', 'etag', 'content-language', 'last-modified'] as const;

/** Replays, stored refusals and keys that were given up. */
export const replayCases: readonly ConformanceCase[] = [
  caseOf('replay', 'a replay has the same status, headers and body, to the byte', async (target) => {
    const { key, body, first } = await executesNew(target);
    for (const _ of [1, 2, 3]) repeats(await replays(target, { key, body }), first);
    await hasEffects(target, key, 1);
  }),
  caseOf('replay', 'a replay sets no cookie', async (target) => {
    const { key, body } = await executesNew(target);
    same('Set-Cookie', (await replays(target, { key, body })).headers['set-cookie'], undefined);
  }),
  withRefusedBody('refusal', 'a refusal by the operation is stored and replayed', async (target) => {
    const key = newKey();
    const body = target.refusedBody();
    const first = await send(target, { key, body });
    same('The code', first.json.code, 'failed');
    same('Idempotency-Status', first.headers['idempotency-status'], 'stored');
    repeats(await replays(target, { key, body }), first);
  }),
  withRefusedBody('refusal', 'a stored refusal holds its key: another body is a mismatch', async (target) => {
    const key = newKey();
    await send(target, { key, body: target.refusedBody() });
    await refuses(target, { key, body: target.body() }, 422, 'payload_mismatch');
  }),
  withStatus('giving up', 'the status route tells what became of a key', async (target) => {
    const key = newKey();
    const path = target.statusPath(key);
    same('Before', (await send(target, { method: 'GET', path })).json.state, 'absent');
    await executes(target, { key });
    same('After', (await send(target, { method: 'GET', path })).json.state, 'succeeded');
  }),
  withStatus('giving up', 'a fenced key is never executed', async (target) => {
    const key = newKey();
    const fenced = await send(target, { method: 'DELETE', path: target.statusPath(key) });
    same('The fence', [fenced.status, fenced.json.state], [200, 'abandoned']);
    await refuses(target, { key, body: target.body() }, 410, 'key_abandoned');
    await hasEffects(target, key, 0);
  }),
  withStatus('giving up', 'a settled key cannot be fenced', async (target) => {
    const { key, body } = await executesNew(target);
    const refused = await send(target, { method: 'DELETE', path: target.statusPath(key) });
    same('The fence', [refused.status, refused.json.state], [409, 'succeeded']);
    await replays(target, { key, body });
  }),
];

function repeats(replay: Answer, first: Answer): void {
  same('The status', replay.status, first.status);
  same('The body', replay.text, first.text);
  for (const name of REPEATED) same(name, replay.headers[name], first.headers[name]);
}
