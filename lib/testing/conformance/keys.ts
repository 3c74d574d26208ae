import { randomUUID } from 'node:crypto';
import { uuidV7 } from '../../core/issued-key.ts';
import {
  type ConformanceCase,
  caseOf,
  caseWith,
  type Endpoint,
  type EndpointAnswer,
  fits,
  holds,
  type Sent,
  same,
  shown,
} from './endpoint.ts';
import type { ConformanceTarget } from './target.ts';

const withMintedKeys = caseWith('mintKey');
const whereOthersAct = caseWith('otherHeaders');
const withOthersKeys = caseWith('otherHeaders', 'mintKey');

/** Headers that hold no key (K1), as they go over the wire. */
const NO_KEYS: readonly [name: string, rawKey: string | string[]][] = [
  ['an empty header', ''],
  ['an empty string', '""'],
  ['256 characters', `"${'k'.repeat(256)}"`],
  ['a comma', '"one,two"'],
  ['a space', '"one two"'],
  ['a tab', '"one\ttwo"'],
  ['a character beyond ASCII', '"caf\u00e9"'],
  ['a quote, escaped', '"one\\"two"'],
  ['an apostrophe', '"it\'s"'],
  ['a quote that is not closed', '"one'],
  ['a parameter behind the string', '"one";v=1'],
  ['two headers', ['"one"', '"two"']],
  ['two keys in one header', '"one", "two"'],
];

const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const YEAR_MS = 365 * 24 * 3600_000;

/** Keys, and whose they are. */
export const keyCases: readonly ConformanceCase[] = [
  caseOf('key syntax', 'no header: key_missing', async (api) => {
    await api.refuses({ body: api.target.body() }, 400, 'key_missing');
  }),
  ...NO_KEYS.map(([name, rawKey]) =>
    caseOf('key syntax', `no key: ${name}`, async (api) => {
      await api.refuses({ rawKey, body: api.target.body() }, 400, 'key_malformed', 'key_missing');
      for (const key of typeof rawKey === 'string' ? [rawKey] : ['one', 'two']) await api.hasEffects(key, 0);
    }),
  ),
  caseOf('key syntax', 'a key of 255 characters, of all that are allowed', async (api) => {
    const marks = '!#$%&()*+-./:;<=>?@[\\]^_`{|}~';
    const key = `${randomUUID()}${marks}`.padEnd(255, 'k');
    const rawKey = `"${key.replaceAll('\\', '\\\\')}"`;
    const body = api.target.body();
    await api.executes({ rawKey, body });
    await api.replays({ rawKey, body });
    await api.hasEffects(key, 1);
  }),
  caseOf('key syntax', 'the bare token and the string are one key', async (api) => {
    const { key, body } = api.newRequest();
    await api.executes({ rawKey: key, body });
    await api.replays({ rawKey: `"${key}"`, body });
    await api.replays({ rawKey: `  ${key} `, body });
    await api.hasEffects(key, 1);
  }),
  caseOf('key syntax', 'keys that differ in case alone are two keys', async (api) => {
    const key = randomUUID();
    await api.executes({ key: `${key}-a` });
    await api.executes({ key: `${key}-A` });
  }),
  caseOf('signed keys', 'a signature that does not fit is refused, and not executed', async (api) => {
    const key = `${uuidV7(Date.now())}.${'A'.repeat(22)}`;
    const body = api.target.body();
    for (const _ of [1, 2]) await api.refuses({ key, body }, 400, 'key_invalid');
    await api.hasEffects(key, 0);
  }),
  withMintedKeys('signed keys', 'a minted key is executed and replayed', async (api) => {
    const request = { key: api.target.mintKey(Date.now()), body: api.target.body() };
    await api.executes(request);
    await api.replays(request);
  }),
  withMintedKeys('window', 'a minted key from the future is refused, and not executed', async (api) => {
    const key = api.target.mintKey(Date.now() + 3600_000);
    await api.refuses({ key, body: api.target.body() }, 400, 'key_invalid');
    await api.hasEffects(key, 0);
  }),
  withMintedKeys('window', 'a minted key older than the window is refused, and not executed', async (api) => {
    const key = api.target.mintKey(Date.now() - YEAR_MS);
    await api.refuses({ key, body: api.target.body() }, 410, 'key_expired');
    await api.hasEffects(key, 0);
  }),
  caseOf('window', 'the time in a key that was not minted here is ignored', async (api) => {
    await api.executes({ key: `client-${uuidV7(Date.now() - YEAR_MS)}` });
  }),
  caseWith('otherOperation')('scope', 'the same key on another operation is another intent', async (api) => {
    const key = randomUUID();
    const { path, body } = api.target.otherOperation;
    const first = await api.executes({ key });
    const second = await api.executes({ key, path, body: body() });
    holds('The two answers differ', first.text !== second.text, shown(second), 'an answer of its own');
  }),
  caseOf('expiry', 'it says until when the answer is kept, and a replay says the same', async (api) => {
    const request = api.newRequest();
    const first = await api.executes(request);
    const until = first.headers['idempotency-key-expires'];
    fits('Idempotency-Key-Expires', until, HTTP_DATE);
    holds('Idempotency-Key-Expires', Date.parse(String(until)) > Date.now(), until, 'a time to come');
    const replay = await api.replays(request);
    same('Idempotency-Key-Expires of the replay', replay.headers['idempotency-key-expires'], until);
  }),
  caseOf('next key', 'a refusal carries the next key, which is good', async (api) => {
    const refusals: Sent[] = [
      { rawKey: '"no key"', body: api.target.body() },
      { body: api.target.body() },
      { key: randomUUID(), raw: '{' },
    ];
    for (const request of refusals) {
      const answer = await api.send(request);
      const [, next = ''] = /^"(.+)"$/.exec(String(answer.headers['idempotency-next-key'])) ?? [];
      holds('Idempotency-Next-Key', next !== '', answer.headers['idempotency-next-key'], 'a string in quotes');
      await api.isUnused(next);
    }
  }),
  whereOthersAct('other principals', "another's key is one never seen: executed for whoever sends it", async (api) => {
    const mine = api.newRequest();
    const theirs = asOther(api, mine.key);
    const first = await api.executes(mine);
    const used = await api.executes(theirs);
    looksAlike(used, await api.executes(asOther(api, randomUUID())));
    holds('The answer', used.text !== first.text, shown(used), 'one of its own');
    same('My replay', (await api.replays(mine)).text, first.text);
    same('Their replay', (await api.replays(theirs)).text, used.text);
    await api.hasEffects(mine.key, 2);
  }),
  withOthersKeys(
    'other principals',
    "another's signed key is refused alike, whether it was used or not",
    async (api) => {
      const [used, unused] = [api.target.mintKey(Date.now()), api.target.mintKey(Date.now())];
      await api.executes({ key: used });
      const ask = (key: string) => api.refuses(asOther(api, key), 400, 'key_invalid');
      const answers = [await ask(used), await ask(unused)] as const;
      looksAlike(...answers);
      const [told, alike] = answers.map(({ json: { instance, ...rest } }) => rest);
      same('What is told', told, alike);
      await api.hasEffects(used, 1);
    },
  ),
  caseWith('otherHeaders', 'statusPath')('other principals', "another's key has no status", async (api) => {
    const { key } = await api.executesNew();
    const ask = (asked: string) =>
      api.send({ method: 'GET', path: api.target.statusPath(asked), as: api.target.otherHeaders });
    const [used, unused] = [await ask(key), await ask(randomUUID())];
    same('The status', [used.status, used.json.state], [unused.status, unused.json.state]);
    looksAlike(used, unused);
  }),
];

/** The same status, the same headers, the same members. Lengths too, where the values have one. */
function looksAlike(one: EndpointAnswer, other: EndpointAnswer): void {
  const look = ({ status, headers, json }: EndpointAnswer) => [status, Object.keys(headers).sort(), Object.keys(json)];
  same('The look of the answer', look(one), look(other));
}

type WithOthers = ConformanceTarget & Required<Pick<ConformanceTarget, 'otherHeaders'>>;

/** Sends what is accepted, as the other principal. */
function asOther({ target }: Endpoint<WithOthers>, key: string): Sent {
  return { key, body: (target.bodyOfOther ?? target.body)(), as: target.otherHeaders };
}
