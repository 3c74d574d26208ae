import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type ConformanceCase, caseOf, caseWith, type Sent } from './endpoint.ts';
import type { JsonObject } from './target.ts';

/** Texts that no two readers read alike (F1), made of one that is accepted. */
const AMBIGUOUS: readonly [name: string, spoil: (body: JsonObject) => string][] = [
  ['an integer beyond 2^53', (body) => withMember(body, '"oncekit_extra":9007199254740993')],
  ['a number beyond all', (body) => withMember(body, '"oncekit_extra":1e999')],
  ['a lone surrogate', (body) => withMember(body, '"oncekit_extra":"\\ud800"')],
  ['a name that comes twice', (body) => withMember(body, firstMember(body))],
  ['a name that comes twice, once with an escape', (body) => withMember(body, escaped(firstMember(body)))],
  ['a name that comes twice further in', (body) => withMember(body, '"oncekit_extra":[{"a":1,"a":1}]')],
];

/** The same JSON, written another way. */
const REWRITTEN: readonly [name: string, rewrite: (body: JsonObject) => string][] = [
  ['the order of the members', (body) => JSON.stringify(Object.fromEntries(Object.entries(body).reverse()))],
  ['white space', (body) => `\r\n${JSON.stringify(body, null, '\t')}\n`],
  ['the way an integer is written', (body) => JSON.stringify(body).replace(/:(\d+)(?=[,}])/, ':$1.0')],
  ['an exponent', (body) => JSON.stringify(body).replace(/:(\d+)(?=[,}])/, ':$1e0')],
  ['escapes', (body) => `{${escaped(firstMember(body))}${JSON.stringify(body).slice(1 + firstMember(body).length)}`],
];

const withOtherPath = caseWith('otherPath');

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

/** Fingerprints, and bodies that are refused. */
export const bodyCases: readonly ConformanceCase[] = [
  ...REWRITTEN.map(([name, rewrite]) =>
    caseOf('fingerprint', `does not matter: ${name}`, async (api) => {
      const { key, body } = await api.executesNew();
      await api.replays({ key, raw: rewrite(body) });
      await api.hasEffects(key, 1);
    }),
  ),
  caseOf('fingerprint', 'another value is a mismatch, and not executed', async (api) => {
    const { key, body } = await api.executesNew();
    await api.refuses({ key, body: api.target.otherBody() }, 422, 'payload_mismatch');
    await api.replays({ key, body });
    await api.hasEffects(key, 1);
  }),
  caseOf('fingerprint', 'one member more is a mismatch, also one that the schema does not know', async (api) => {
    const { key, body } = await api.executesNew();
    await api.mismatches({ key, raw: withMember(body, '"oncekit_extra":true') });
  }),
  caseOf('fingerprint', 'the query counts', async (api) => {
    const { key, body } = await api.executesNew();
    const path = `${api.target.path}${api.target.path.includes('?') ? '&' : '?'}oncekit=1`;
    await api.mismatches({ key, body, path });
  }),
  withOtherPath('fingerprint', 'the path counts: one key on two things of one kind is a mismatch', async (api) => {
    const { key, body } = await api.executesNew();
    await api.mismatches({ key, body, path: api.target.otherPath });
  }),
  ...AMBIGUOUS.map(([name, spoil]) =>
    caseOf('fingerprint', `refused: ${name}`, async (api) => {
      await api.refusesUnused({ raw: spoil(api.target.body()) }, 400, 'malformed_body');
    }),
  ),
  ...spoiltCases(413, 'payload_too_large', TOO_LARGE),
  ...spoiltCases(400, 'malformed_body', MALFORMED),
  ...spoiltCases(415, 'unsupported_media_type', UNSUPPORTED),
  caseOf('limits', 'JSON may say its charset, in any case', async (api) => {
    const raw = JSON.stringify(api.target.body());
    await api.executes({ key: randomUUID(), ...typed('Application/JSON;Charset="UTF-8"', raw) });
  }),
];

function spoiltCases(status: number, code: string, bodies: Spoilt): ConformanceCase[] {
  return Object.entries(bodies).map(([name, spoil]) =>
    caseOf('limits', `refused, and no key consumed: ${name}`, async (api) => {
      await api.refusesUnused(spoil(api.target.body()), status, code);
    }),
  );
}

function withMember(body: JsonObject, member: string): string {
  return `${JSON.stringify(body).slice(0, -1)},${member}}`;
}

/** `"name":value` of the first member. */
function firstMember(body: JsonObject): string {
  const [name, value] = Object.entries(body)[0] ?? ['', null];
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

/** The member with the first character of its name as an escape. */
function escaped(member: string): string {
  return `"\\u${member.charCodeAt(1).toString(16).padStart(4, '0')}${member.slice(2)}`;
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
