import { type ConformanceCase, caseOf, caseWith } from './endpoint.ts';
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

/** Fingerprints. */
export const fingerprintCases: readonly ConformanceCase[] = [
  ...REWRITTEN.map(([name, rewrite]) =>
    caseOf('fingerprint', `does not matter: ${name}`, async (api) => {
      const { key, body } = await api.executesNew();
      await api.replays({ key, raw: rewrite(body) });
      await api.hasEffects(key, 1);
    }),
  ),
  caseOf('fingerprint', 'another value is a mismatch, and not executed', async (api) => {
    const { key, body } = await api.executesNew();
    await api.refuses({ key, body: api.otherBody() }, 422, 'payload_mismatch');
    await api.replays({ key, body });
    await api.hasEffects(key, 1);
  }),
  caseOf('fingerprint', 'one member more is a mismatch, also one that the schema does not know', async (api) => {
    const { key, body } = await api.executesNew();
    const raw = withMember(body, '"oncekit_extra":true');
    await api.mismatches({ key, raw });
  }),
  caseOf('fingerprint', 'the query counts', async (api) => {
    const { key, body } = await api.executesNew();
    const path = `${api.target.path}${api.target.path.includes('?') ? '&' : '?'}oncekit=1`;
    await api.mismatches({ key, body, path });
  }),
  caseWith('otherPath')(
    'fingerprint',
    'the path counts: one key on two things of one kind is a mismatch',
    async (api) => {
      const { key, body } = await api.executesNew();
      await api.mismatches({ key, body, path: api.target.otherPath });
    },
  ),
  ...AMBIGUOUS.map(([name, spoil]) =>
    caseOf('fingerprint', `refused: ${name}`, async (api) => {
      await api.refusesUnused({ raw: spoil(api.body()) }, 400, 'malformed_body');
    }),
  ),
];

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
