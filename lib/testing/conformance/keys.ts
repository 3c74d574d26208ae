import {
  executes,
  fits,
  hasEffects,
  holds,
  isUnused,
  newKey,
  refuses,
  replays,
  type Sent,
  same,
  send,
  shown,
} from './checks.ts';
import { type ConformanceCase, caseOf, caseWith } from './target.ts';

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

const YEAR_MS = 365 * 24 * 3600_000;

const syntax = NO_KEYS.map(([name, rawKey]) =>
  caseOf('key syntax', `no key: ${name}`, async (target) => {
    await refuses(target, { rawKey, body: target.body() }, 400, 'key_malformed', 'key_missing');
    for (const key of typeof rawKey === 'string' ? [rawKey] : ['one', 'two']) await hasEffects(target, key, 0);
  }),
);

/** Keys. */
export const keyCases: readonly ConformanceCase[] = [
  caseOf('key syntax', 'no header: key_missing', async (target) => {
    await refuses(target, { body: target.body() }, 400, 'key_missing');
  }),
  ...syntax,
  caseOf('key syntax', 'a key of 255 characters, of all that are allowed', async (target) => {
    const marks = '!#$%&()*+-./:;<=>?@[\\]^_`{|}~';
    const key = `${newKey()}${marks}`.padEnd(255, 'k');
    const rawKey = `"${key.replaceAll('\\', '\\\\')}"`;
    const body = target.body();
    await executes(target, { rawKey, body });
    await replays(target, { rawKey, body });
    await hasEffects(target, key, 1);
  }),
  caseOf('key syntax', 'the bare token and the string are one key', async (target) => {
    const key = newKey();
    const body = target.body();
    await executes(target, { rawKey: key, body });
    await replays(target, { rawKey: `"${key}"`, body });
    await replays(target, { rawKey: `  ${key} `, body });
    await hasEffects(target, key, 1);
  }),
  caseOf('key syntax', 'keys that differ in case alone are two keys', async (target) => {
    const key = newKey();
    await executes(target, { key: `${key}-a` });
    await executes(target, { key: `${key}-A` });
  }),
  caseOf('signed keys', 'a signature that does not fit is refused, and not executed', async (target) => {
    const key = `${uuidV7(Date.now())}.${'A'.repeat(22)}`;
    const request: Sent = { key, body: target.body() };
    await refuses(target, request, 400, 'key_invalid');
    await refuses(target, request, 400, 'key_invalid');
    await hasEffects(target, key, 0);
  }),
  withMintedKeys('signed keys', 'a minted key is executed and replayed', async (target) => {
    const request: Sent = { key: target.mintKey(Date.now()), body: target.body() };
    await executes(target, request);
    await replays(target, request);
  }),
  withMintedKeys('window', 'a minted key from the future is refused, and not executed', async (target) => {
    const key = target.mintKey(Date.now() + 3600_000);
    await refuses(target, { key, body: target.body() }, 400, 'key_invalid');
    await hasEffects(target, key, 0);
  }),
  withMintedKeys('window', 'a minted key older than the window is refused, and not executed', async (target) => {
    const key = target.mintKey(Date.now() - YEAR_MS);
    await refuses(target, { key, body: target.body() }, 410, 'key_expired');
    await hasEffects(target, key, 0);
  }),
  caseOf('window', 'the time in a key that was not minted here is ignored', async (target) => {
    await executes(target, { key: `client-${uuidV7(Date.now() - YEAR_MS)}` });
  }),
  caseWith('otherOperation')('scope', 'the same key on another operation is another intent', async (target) => {
    const key = newKey();
    const { path, body } = target.otherOperation;
    const first = await executes(target, { key });
    const second = await executes(target, { key, path, body: body() });
    holds('The two answers differ', first.text !== second.text, shown(second), 'an answer of its own');
  }),
  caseOf('expiry', 'it says until when the answer is kept, and a replay says the same', async (target) => {
    const request: Sent = { key: newKey(), body: target.body() };
    const until = (await executes(target, request)).headers['idempotency-key-expires'];
    fits(
      'Idempotency-Key-Expires',
      until,
      /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
    );
    const isAhead = Date.parse(String(until)) > Date.now();
    holds('Idempotency-Key-Expires', isAhead, until, 'a time to come');
    same(
      'Idempotency-Key-Expires of the replay',
      (await replays(target, request)).headers['idempotency-key-expires'],
      until,
    );
  }),
  caseOf('next key', 'a refusal carries the next key, which is good', async (target) => {
    const refusals: Sent[] = [
      { rawKey: '"no key"', body: target.body() },
      { body: target.body() },
      { key: newKey(), raw: '{' },
    ];
    for (const request of refusals) {
      const answer = await send(target, request);
      const [, next = ''] = /^"(.+)"$/.exec(String(answer.headers['idempotency-next-key'])) ?? [];
      holds('Idempotency-Next-Key', next !== '', answer.headers['idempotency-next-key'], 'a string in quotes');
      await isUnused(target, next);
    }
  }),
];

/** A UUID of version 7 (RFC 9562) that carries this time. */
function uuidV7(at: number): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${newKey().slice(15)}`;
}
