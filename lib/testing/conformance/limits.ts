import { gzipSync } from 'node:zlib';
import {
  type ConformanceCase,
  caseOf,
  caseWith,
  type Endpoint,
  type EndpointAnswer,
  holds,
  newKey,
  type Sent,
  same,
  shown,
} from './endpoint.ts';
import type { JsonObject } from './target.ts';

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
  caseOf('limits', 'JSON may say its charset, in any case', async (api) => {
    await api.executes({
      key: newKey(),
      ...typed('Application/JSON;Charset="UTF-8"', JSON.stringify(api.body())),
    });
  }),
  caseWith('otherHeaders')(
    'other principals',
    "another's key is one never seen: executed for whoever sends it",
    async (api) => {
      const key = newKey();
      const mine = api.body();
      const theirs = bodyOfOther(api);
      const first = await api.executes({ key, body: mine });
      const used = await api.executes({ key, body: theirs, as: api.target.otherHeaders });
      const unused = await api.executes({ key: newKey(), body: bodyOfOther(api), as: api.target.otherHeaders });
      looksAlike(used, unused);
      holds('The answer', used.text !== first.text, shown(used), 'one of its own');
      same('My replay', (await api.replays({ key, body: mine })).text, first.text);
      same('Their replay', (await api.replays({ key, body: theirs, as: api.target.otherHeaders })).text, used.text);
      await api.hasEffects(key, 2);
    },
  ),
  caseWith('otherHeaders', 'mintKey')(
    'other principals',
    "another's signed key is refused alike, whether it was used or not",
    async (api) => {
      const [used, unused] = [api.target.mintKey(Date.now()), api.target.mintKey(Date.now())];
      await api.executes({ key: used });
      const ask = (key: string) => {
        const request: Sent = { key, body: bodyOfOther(api), as: api.target.otherHeaders };
        return api.refuses(request, 400, 'key_invalid');
      };
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
    const [used, unused] = [await ask(key), await ask(newKey())];
    same('The status', [used.status, used.json.state], [unused.status, unused.json.state]);
    looksAlike(used, unused);
  }),
];

function spoiltCases(status: number, code: string, bodies: Spoilt): ConformanceCase[] {
  return Object.entries(bodies).map(([name, spoil]) =>
    caseOf('limits', `refused, and no key consumed: ${name}`, async (api) => {
      await api.refusesUnused(spoil(api.body()), status, code);
    }),
  );
}

/** The same status, the same headers, the same members. Lengths too, where the values have one. */
function looksAlike(one: EndpointAnswer, other: EndpointAnswer): void {
  const look = ({ status, headers, json }: EndpointAnswer) => [status, Object.keys(headers).sort(), Object.keys(json)];
  same('The look of the answer', look(one), look(other));
}

function bodyOfOther({ target }: Endpoint): JsonObject {
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
