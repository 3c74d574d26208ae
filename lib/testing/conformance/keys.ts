import { type ConformanceCase, caseOf, caseWith, fits, holds, newKey, type Sent, same, shown } from './endpoint.ts';

const withMintedKeys = caseWith('mintKey');

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

const syntax = NO_KEYS.map(([name, rawKey]) =>
  caseOf('key syntax', `no key: ${name}`, async (api) => {
    await api.refuses({ rawKey, body: api.body() }, 400, 'key_malformed', 'key_missing');
    for (const key of typeof rawKey === 'string' ? [rawKey] : ['one', 'two']) await api.hasEffects(key, 0);
  }),
);

/** Keys. */
export const keyCases: readonly ConformanceCase[] = [
  caseOf('key syntax', 'no header: key_missing', async (api) => {
    await api.refuses({ body: api.body() }, 400, 'key_missing');
  }),
  ...syntax,
  caseOf('key syntax', 'a key of 255 characters, of all that are allowed', async (api) => {
    const marks = '!#$%&()*+-./:;<=>?@[\\]^_`{|}~';
    const key = `${newKey()}${marks}`.padEnd(255, 'k');
    const rawKey = `"${key.replaceAll('\\', '\\\\')}"`;
    const body = api.body();
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
    const key = newKey();
    await api.executes({ key: `${key}-a` });
    await api.executes({ key: `${key}-A` });
  }),
  caseOf('signed keys', 'a signature that does not fit is refused, and not executed', async (api) => {
    const key = `${uuidV7(Date.now())}.${'A'.repeat(22)}`;
    const body = api.body();
    for (const _ of [1, 2]) await api.refuses({ key, body }, 400, 'key_invalid');
    await api.hasEffects(key, 0);
  }),
  withMintedKeys('signed keys', 'a minted key is executed and replayed', async (api) => {
    const request = { key: api.target.mintKey(Date.now()), body: api.body() };
    await api.executes(request);
    await api.replays(request);
  }),
  withMintedKeys('window', 'a minted key from the future is refused, and not executed', async (api) => {
    const key = api.target.mintKey(Date.now() + 3600_000);
    await api.refuses({ key, body: api.body() }, 400, 'key_invalid');
    await api.hasEffects(key, 0);
  }),
  withMintedKeys('window', 'a minted key older than the window is refused, and not executed', async (api) => {
    const key = api.target.mintKey(Date.now() - YEAR_MS);
    await api.refuses({ key, body: api.body() }, 410, 'key_expired');
    await api.hasEffects(key, 0);
  }),
  caseOf('window', 'the time in a key that was not minted here is ignored', async (api) => {
    await api.executes({ key: `client-${uuidV7(Date.now() - YEAR_MS)}` });
  }),
  caseWith('otherOperation')('scope', 'the same key on another operation is another intent', async (api) => {
    const key = newKey();
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
      { rawKey: '"no key"', body: api.body() },
      { body: api.body() },
      { key: newKey(), raw: '{' },
    ];
    for (const request of refusals) {
      const answer = await api.send(request);
      const [, next = ''] = /^"(.+)"$/.exec(String(answer.headers['idempotency-next-key'])) ?? [];
      holds('Idempotency-Next-Key', next !== '', answer.headers['idempotency-next-key'], 'a string in quotes');
      await api.isUnused(next);
    }
  }),
];

/** A UUID of version 7 (RFC 9562) that carries this time. */
function uuidV7(at: number): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${newKey().slice(15)}`;
}
