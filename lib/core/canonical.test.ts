import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText, canonicalTexts } from './canonical.ts';
import { BadPayloadError } from './errors.ts';

/** Names that could pass for the tags of rich values, beside ordinary ones. */
const names = fc.oneof(
  fc.constantFrom('$date', '$$date', '$bigint', '$map', '$set', '$undefined', '$', '__proto__', 'a', 'toJSON'),
  fc.string({ maxLength: 3 }),
);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, '', '1', 0, 1, -1, 0.5, '2026-01-01T00:00:00.000Z'),
    fc.string({ maxLength: 4 }),
    fc.integer(),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(names, tie('json'), { maxKeys: 3 }),
  ),
}));

/** The order of properties turned round, at every level. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, reversed(inner)]),
  );
}

/** A spelling of JSON that does not depend on the code under test. */
function spelled(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spelled)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${spelled(inner)}`);
  return `{${entries.sort()}}`;
}

describe('F1 JSON', () => {
  test('F1 the order of properties does not count, at any depth', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        expect(await canonicalText(reversed(value))).toBe(await canonicalText(value));
      }),
    );
  });

  test('F1 two different values never have the same text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, fc.jsonValue()), fc.oneof(json, fc.jsonValue()), async (a, b) => {
        fc.pre(isPlain(a) && isPlain(b));
        expect((await canonicalText(a)) === (await canonicalText(b))).toBe(spelled(a) === spelled(b));
      }),
      { numRuns: 3000 },
    );
  });

  test('F1 is RFC 8785: names by UTF-16 code units, numbers as ECMAScript writes them', async () => {
    const value = { '\u20ac': 1e21 / 1e6, '\r': 1.0, '1': 4.5, '\u00f6': 2e-3, a: 1e-27 };
    expect(await canonicalText(value)).toBe('json:{"\\r":1,"1":4.5,"a":1e-27,"ö":0.002,"€":1000000000000000}');
  });

  test('F1 sorts as the example of RFC 8785, 3.2.3: a surrogate comes before U+FB33', async () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
    const text = (await canonicalText(Object.fromEntries(names.map((name) => [name, 0])))).slice('json:'.length);
    expect(text).toBe(`{${sorted.map((name) => `${JSON.stringify(name)}:0`)}}`);
  });

  test('F1 is what another implementation of RFC 8785 writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, fc.jsonValue()), async (value) => {
        // The kit escapes names that could pass for its tags, and refuses numbers that others would read otherwise.
        fc.pre(isPlain(value) && !JSON.stringify(value).includes('$'));
        expect(await canonicalText(value)).toBe(`json:${canonicalize(value)}`);
      }),
      { numRuns: 3000 },
    );
  });

  test('F1 the order of array elements counts', async () => {
    expect(await canonicalText([1, 2])).not.toBe(await canonicalText([2, 1]));
  });

  test.each([
    ['a Date', new Date(0), { $date: '1970-01-01T00:00:00.000Z' }],
    ['a BigInt', 5n, { $bigint: '5' }],
    ['a Map', new Map([['a', 1]]), { $map: [['a', 1]] }],
    ['a Set', new Set([1]), { $set: [1] }],
    ['undefined', undefined, { $undefined: true }],
  ])('F1 %s is told from a plain value that imitates its tag, escaped or not', async (_, rich, plain) => {
    const escaped = Object.fromEntries(Object.entries(plain).map(([name, inner]) => [`$${name}`, inner]));
    const texts = await Promise.all([[rich], [plain], [escaped]].map((value) => canonicalText(value)));
    expect(new Set(texts).size).toBe(3);
  });

  test('F1 rich values count by their content', async () => {
    const text = (value: unknown) => canonicalText({ value });
    expect(await text(new Date(0))).toBe(await text(new Date(0)));
    expect(await text(new Date(0))).not.toBe(await text(new Date(1)));
    expect(await text(1n)).not.toBe(await text(1));
    expect(await text(new Map([['a', 1]]))).not.toBe(await text({ a: 1 }));
    expect(await text(new Set([1]))).not.toBe(await text([1]));
    expect(await text(2n ** 70n)).not.toBe(await text(2n ** 70n + 1n));
  });

  test('F1 the NaN of an empty number field is a value, for the schema to refuse, and like no other', async () => {
    const texts = [Number.NaN, null, 'NaN', { $number: 'NaN' }].map((value) => canonicalText({ value }));
    expect(new Set(texts).size).toBe(4);
  });

  test('F1 a file among values counts by name, type and content, wherever it stands', async () => {
    const file = (content: string, name = 'a.txt', type = 'text/plain') => new File([content], name, { type });
    const text = async (value: unknown) => await canonicalText({ lines: [{ picture: value }] });
    const one = await text(file('one'));
    expect(await text(file('one'))).toBe(one);
    const others = [file('two'), file('one', 'b.txt'), file('one', 'a.txt', 'text/html'), new Blob(['one']), 'one'];
    const texts = await Promise.all([...others, { $file: { name: 'a.txt' } }].map(text));
    expect(new Set([one, ...texts]).size).toBe(7);
    expect(await canonicalText([file('one'), file('two')])).not.toBe(await canonicalText([file('two'), file('one')]));
  });

  test('X4 a file is read once, however often values refer to it', async () => {
    let reads = 0;
    class Counted extends File {
      override arrayBuffer() {
        reads++;
        return super.arrayBuffer();
      }
    }
    await canonicalText(Array(1000).fill(new Counted(['x'], 'a.txt')));
    expect(reads).toBe(1);
    const many = Array.from({ length: 1001 }, () => new Blob(['x']));
    expect(() => canonicalText(many)).toThrow(expect.objectContaining({ code: 'malformed_body' }));
  });

  test('F1 a property that is undefined counts as left out; an element of an array does not', async () => {
    expect(await canonicalText({ a: 1, b: undefined })).toBe(await canonicalText({ a: 1 }));
    expect(await canonicalText([undefined])).not.toBe(await canonicalText([]));
    expect(await canonicalText([undefined])).not.toBe(await canonicalText([null]));
  });

  test('F1 declared volatile properties are left out, at the top level alone', async () => {
    const volatile = ['captcha'];
    expect(canonicalTexts({ a: 1, captcha: 'x' }, volatile)).toEqual([canonicalText({ a: 1 })]);
    expect(canonicalTexts({ a: { captcha: 'x' } }, volatile)).toEqual([canonicalText({ a: { captcha: 'x' } })]);
    expect(canonicalTexts([{ captcha: 'x' }], volatile)).toEqual([canonicalText([{ captcha: 'x' }])]);
    expect(canonicalTexts({ a: 1, captcha: 'x' })).toEqual([canonicalText({ a: 1, captcha: 'x' })]);
  });

  test('F1 usual names are left out of what counts, at the top level alone, and not of what older rows count', async () => {
    const sent = { a: 1, $b: { csrfToken: 'x' }, csrfToken: 'x' };
    expect(canonicalTexts(sent)).toEqual([canonicalText({ a: 1, $b: { csrfToken: 'x' } }), canonicalText(sent)]);
    const map = new Map([['csrfToken', 'x']]);
    expect(canonicalTexts(map)).toEqual([canonicalText(map)]);
    const file = new File(['one'], 'a.txt');
    expect((await canonicalTexts({ file, _csrf: 'x' }))[0]).toBe(await canonicalText({ file }));
    expect((await canonicalTexts({ $: 1, $$t: 1, '$t.x': 1 }, ['$t']))[0]).toBe(canonicalText({ $: 1, $$t: 1 }));
  });
});

describe('F1 what has no one meaning is refused as malformed_body', () => {
  class Money {
    cents = 1;
  }
  const circle: Record<string, unknown> = {};
  circle.self = circle;

  test.each([
    ['2^53', 2 ** 53],
    ['-2^53', -(2 ** 53)],
    ['1e300', 1e300],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a circle', circle],
    ['a class instance', new Money()],
    ['a class instance deep inside', { a: [new Map([['m', new Money()]])] }],
    ['an Error', new Error('x')],
    ['a function', () => {}],
    ['a symbol', Symbol('s')],
    ['a lone surrogate', 'a\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
  ])('F1 refuses %s', async (_, value) => {
    const refused = () => canonicalText({ value });
    expect(refused).toThrow(BadPayloadError);
    expect(refused).toThrow(expect.objectContaining({ code: 'malformed_body' }));
  });

  test('X4 one object that is referred to over and over does not keep us busy for ever', async () => {
    let value: unknown = 'leaf';
    for (let level = 0; level < 60; level++) value = [value, value];
    expect(() => canonicalText(value)).toThrow(BadPayloadError);
  });

  test('F1 the largest safe integers are accepted', async () => {
    expect(await canonicalText([2 ** 53 - 1, -(2 ** 53) + 1])).toBe('json:[9007199254740991,-9007199254740991]');
  });

  test('F1 an object without a prototype is plain', async () => {
    expect(await canonicalText(Object.assign(Object.create(null), { a: 1 }))).toBe('json:{"a":1}');
  });
});

/** fc.jsonValue also makes integers that F1 refuses. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isPlain);
  return true;
}
