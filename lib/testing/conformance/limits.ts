import { gzipSync } from 'node:zlib';
import {
  type Answer,
  executes,
  executesNew,
  hasEffects,
  holds,
  newKey,
  refuses,
  refusesUnused,
  replays,
  type Sent,
  same,
  send,
  shown,
} from './checks.ts';
import { type ConformanceCase, type ConformanceTarget, caseOf, caseWith, type JsonObject } from './target.ts';

const TEN_MB = 10 * 1024 * 1024;

/** Bodies that must not be executed (X4), by name. */
type Spoilt = Readonly<Record<string, (body: JsonObject) => Sent>>;

const TOO_LARGE: Spoilt = {
  '10 MB': (body) => ({ body: { ...body, oncekit_extra: 'x'.repeat(TEN_MB) } }),
  '10 MB without a Content-Length': (body) => ({
    body: { ...body, oncekit_extra: 'x'.repeat(TEN_MB) },
    headers: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' },
  }),
};

const MALFORMED: Spoilt = {
  'broken JSON': (body) => ({ raw: JSON.stringify(body).slice(0, -1) }),
  'an empty body': () => ({ raw: '' }),
  'JSON and then something': (body) => ({ raw: `${JSON.stringify(body)}{}` }),
  '200 levels of nesting': (body) => ({ raw: nested(body, 200) }),
  '100,000 levels of nesting': (body) => ({ raw: nested(body, 100_000) }),
  '10,000 members': (body) => ({ body: { ...body, ...members(10_000) } }),
  '10,000 form fields': () =>
    typed('application/x-www-form-urlencoded', new URLSearchParams(members(10_000)).toString()),
  'bytes that are not UTF-8': (body) => ({
    raw: Buffer.from(JSON.stringify({ ...body, oncekit_extra: 'caf\u00e9' }), 'latin1'),
  }),
  'UTF-16': (body) => ({ raw: Buffer.from(JSON.stringify(body), 'utf16le') }),
  'a form that has no end': () => typed('multipart/form-data; boundary=oncekit', '--oncekit\r\n'),
};

const UNSUPPORTED: Spoilt = {
  'no Content-Type': (body) => typed(undefined, JSON.stringify(body)),
  'text/plain': (body) => typed('text/plain', JSON.stringify(body)),
  'another charset': (body) => typed('application/json; charset=iso-8859-1', JSON.stringify(body)),
  'Content-Encoding': (body) => ({ raw: gzipSync(JSON.stringify(body)), headers: { 'Content-Encoding': 'gzip' } }),
};

/** Strangers and bad input. */
export const limitCases: readonly ConformanceCase[] = [
  ...spoiltCases(413, 'payload_too_large', TOO_LARGE),
  ...spoiltCases(400, 'malformed_body', MALFORMED),
  ...spoiltCases(415, 'unsupported_media_type', UNSUPPORTED),
  caseOf('limits', 'JSON may say its charset, in any case', async (target) => {
    await executes(target, {
      key: newKey(),
      ...typed('Application/JSON;Charset="UTF-8"', JSON.stringify(target.body())),
    });
  }),
  caseWith('otherHeaders')(
    'other principals',
    "another's key is one never seen: executed for whoever sends it",
    async (target) => {
      const key = newKey();
      const mine = target.body();
      const theirs = bodyOfOther(target);
      const first = await executes(target, { key, body: mine });
      const used = await executes(target, { key, body: theirs, as: target.otherHeaders });
      const unused = await executes(target, { key: newKey(), body: bodyOfOther(target), as: target.otherHeaders });
      looksAlike(used, unused);
      holds('The answer', used.text !== first.text, shown(used), 'one of its own');
      same('My replay', (await replays(target, { key, body: mine })).text, first.text);
      same('Their replay', (await replays(target, { key, body: theirs, as: target.otherHeaders })).text, used.text);
      await hasEffects(target, key, 2);
    },
  ),
  caseWith('otherHeaders', 'mintKey')(
    'other principals',
    "another's signed key is refused alike, whether it was used or not",
    async (target) => {
      const [used, unused] = [target.mintKey(Date.now()), target.mintKey(Date.now())];
      await executes(target, { key: used });
      const ask = (key: string) => {
        const request: Sent = { key, body: bodyOfOther(target), as: target.otherHeaders };
        return refuses(target, request, 400, 'key_invalid');
      };
      const answers = [await ask(used), await ask(unused)] as const;
      looksAlike(...answers);
      const [told, alike] = answers.map(({ json: { instance, ...rest } }) => rest);
      same('What is told', told, alike);
      await hasEffects(target, used, 1);
    },
  ),
  caseWith('otherHeaders', 'statusPath')('other principals', "another's key has no status", async (target) => {
    const { key } = await executesNew(target);
    const ask = (asked: string) =>
      send(target, { method: 'GET', path: target.statusPath(asked), as: target.otherHeaders });
    const [used, unused] = [await ask(key), await ask(newKey())];
    same('The status', [used.status, used.json.state], [unused.status, unused.json.state]);
    looksAlike(used, unused);
  }),
];

function spoiltCases(status: number, code: string, bodies: Spoilt): ConformanceCase[] {
  return Object.entries(bodies).map(([name, spoil]) =>
    caseOf('limits', `refused, and no key consumed: ${name}`, async (target) => {
      await refusesUnused(target, spoil(target.body()), status, code);
    }),
  );
}

/** The same status, the same headers, the same members. Lengths too, where the values have one. */
function looksAlike(one: Answer, other: Answer): void {
  const look = ({ status, headers, json }: Answer) => [status, Object.keys(headers).sort(), Object.keys(json)];
  same('The look of the answer', look(one), look(other));
}

function bodyOfOther(target: ConformanceTarget): JsonObject {
  return (target.bodyOfOther ?? target.body)();
}

function nested(body: JsonObject, levels: number): string {
  return `${JSON.stringify(body).slice(0, -1)},"oncekit_extra":${'['.repeat(levels)}${']'.repeat(levels)}}`;
}

function members(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`oncekit_${index}`, '1']));
}

function typed(type: string | undefined, raw: string): Sent {
  return { raw, headers: { 'Content-Type': type } };
}
