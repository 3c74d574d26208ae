import { gzipSync } from 'node:zlib';
import { executes, hasEffects, holds, isUnused, newKey, refuses, replays, same, shown } from './checks.ts';
import { type Answer, type Sent, send } from './client.ts';
import { type ConformanceCase, type ConformanceTarget, conformanceCase, type JsonObject } from './target.ts';

const TEN_MB = 10 * 1024 * 1024;
const MULTIPART = 'multipart/form-data; boundary=oncekit';

/** Bodies that must not be executed (X4), and what they are refused with. */
const BAD: readonly [name: string, status: number, code: string, spoil: (body: JsonObject) => Sent][] = [
  ['10 MB', 413, 'payload_too_large', (body) => ({ body: { ...body, oncekit_extra: 'x'.repeat(TEN_MB) } })],
  [
    '10 MB without a Content-Length',
    413,
    'payload_too_large',
    (body) => ({
      body: { ...body, oncekit_extra: 'x'.repeat(TEN_MB) },
      headers: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' },
    }),
  ],
  ['broken JSON', 400, 'malformed_body', (body) => ({ raw: JSON.stringify(body).slice(0, -1) })],
  ['an empty body', 400, 'malformed_body', () => ({ raw: '' })],
  ['JSON and then something', 400, 'malformed_body', (body) => ({ raw: `${JSON.stringify(body)}{}` })],
  ['200 levels of nesting', 400, 'malformed_body', (body) => ({ raw: nested(body, 200) })],
  ['100,000 levels of nesting', 400, 'malformed_body', (body) => ({ raw: nested(body, 100_000) })],
  ['10,000 members', 400, 'malformed_body', (body) => ({ body: { ...body, ...members(10_000) } })],
  ['10,000 form fields', 400, 'malformed_body', () => form(new URLSearchParams(members(10_000)).toString())],
  [
    'bytes that are not UTF-8',
    400,
    'malformed_body',
    (body) => ({ raw: Buffer.from(withText(body, 'caf\u00e9'), 'latin1') }),
  ],
  ['UTF-16', 400, 'malformed_body', (body) => ({ raw: Buffer.from(JSON.stringify(body), 'utf16le') })],
  [
    'a form that has no end',
    400,
    'malformed_body',
    () => ({ raw: '--oncekit\r\n', headers: { 'Content-Type': MULTIPART } }),
  ],
  ['no Content-Type', 415, 'unsupported_media_type', (body) => ({ body, headers: { 'Content-Type': undefined } })],
  ['text/plain', 415, 'unsupported_media_type', (body) => ({ body, headers: { 'Content-Type': 'text/plain' } })],
  ['another charset', 415, 'unsupported_media_type', (body) => typed(body, 'application/json; charset=iso-8859-1')],
  [
    'Content-Encoding',
    415,
    'unsupported_media_type',
    (body) => ({ raw: gzipSync(JSON.stringify(body)), headers: { 'Content-Encoding': 'gzip' } }),
  ],
];

/** Strangers and bad input. */
export const limitCases: readonly ConformanceCase[] = [
  ...BAD.map(([name, status, code, spoil]) =>
    conformanceCase('limits', `refused, and no key consumed: ${name}`, async (target) => {
      const key = newKey();
      await refuses(target, { key, ...spoil(target.body()) }, status, code);
      await isUnused(target, key);
    }),
  ),
  conformanceCase('limits', 'JSON may say its charset, in any case', async (target) => {
    await executes(target, { key: newKey(), ...typed(target.body(), 'Application/JSON;Charset="UTF-8"') });
  }),
  conformanceCase(
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
    'otherHeaders',
  ),
  conformanceCase(
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
    'mintKey',
    'otherHeaders',
  ),
  conformanceCase(
    'other principals',
    "another's key has no status",
    async (target) => {
      const key = newKey();
      await executes(target, { key });
      const ask = (asked: string) =>
        send(target, { method: 'GET', path: target.statusPath(asked), as: target.otherHeaders });
      const [used, unused] = [await ask(key), await ask(newKey())];
      same('The status', [used.status, used.json.state], [unused.status, unused.json.state]);
      looksAlike(used, unused);
    },
    'statusPath',
    'otherHeaders',
  ),
];

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

function withText(body: JsonObject, text: string): string {
  return JSON.stringify({ ...body, oncekit_extra: text });
}

function form(raw: string): Sent {
  return { raw, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
}

function typed(body: JsonObject, type: string): Sent {
  return { body, headers: { 'Content-Type': type } };
}
