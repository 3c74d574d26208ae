import { inspect } from 'node:util';
import { Decimal } from '@prisma/client/runtime/client';
import { parse } from 'devalue';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, MAX_RESULT_BYTES, ResultTooLargeError, ResultUnreadableError } from '../core/errors.ts';
import { type Answer, decodeAnswer, encodeAnswer, encodeStep } from './answer.ts';
import { reviveDecimalsAs } from './stored-value.ts';

reviveDecimalsAs((digits) => new Decimal(digits)); // as `createIdempotency` does
const data = (value: unknown): Answer => ({ kind: 'data', data: value });
const stored = (value: unknown) => (decodeAnswer(encodeAnswer(data(value))) as { data: unknown }).data;

describe('R1 what is stored comes back', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['text', 'ü🔑\u2028'],
    ['a Date', new Date('2026-11-21T09:00:00.123Z')],
    ['a BigInt', 2n ** 80n],
    ['a Decimal', new Decimal('12.50')],
    ['special Decimals', [new Decimal(NaN), new Decimal(-0), new Decimal('-Infinity'), new Decimal('1e-40')]],
    ['a row with a Decimal', { id: 1, price: new Decimal('0.1'), lines: [{ cents: 5n, each: new Decimal(3) }] }],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', new Date(0)],
        [{ b: 1 }, 2n],
      ]),
    ],
    ['a Set', new Set([1, 'a'])],
    ['a RegExp', /a+/gi],
    ['a URL', new URL('https://shop.example/a?b=c')],
    ['bytes', new Uint8Array([0, 1, 255])],
    ['special numbers', [NaN, -0, Infinity, -Infinity]],
    ['an array with holes and undefined', new Array(2).concat(1)],
    ['a row', { id: '1', at: new Date(1), cents: 5n, lines: [{ sku: 'tea', note: undefined }] }],
  ])('R1 %s survives', (_, value) => {
    expect(stored(value)).toStrictEqual(value);
  });

  test('R1 a Decimal comes back as one that the generated client calls its own, whichever copy it was made by', () => {
    const other = Decimal.clone({ precision: 40 });
    const back = stored({ price: new other('1234567890123456789.123456789') }) as { price: Decimal };
    expect(back.price).toBeInstanceOf(Decimal);
    expect(back.price.toFixed()).toBe('1234567890123456789.123456789');
    expect(back.price.plus(1)).toBeInstanceOf(Decimal);
  });

  test('R1 the same object twice stays the same object, and a circle a circle', () => {
    const inner = { a: 1 };
    const [one, two] = stored([inner, inner]) as object[];
    expect(one).toBe(two);
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const back = stored(circle) as { self: unknown };
    expect(back.self).toBe(back);
  });

  test('R1 bytes that are a part of a shared buffer are stored without the rest of it', () => {
    // Node cuts small Buffers out of one pool; the rest of it may be anybody's secret.
    const pool = new TextEncoder().encode('SECRET-abc-SECRET');
    const view = new Uint8Array(pool.buffer, 7, 3);
    const text = encodeAnswer(data(view));
    expect(text).not.toContain(Buffer.from('SECRET').toString('base64').slice(0, 7));
    expect(Buffer.from(stored(view) as Uint8Array).toString()).toBe('abc');
    const numbers = new Uint16Array(pool.buffer, 8, 1);
    expect(encodeAnswer(data(numbers)).length).toBeLessThan(encodeAnswer(data(new Uint16Array(8))).length);
    expect(stored(numbers)).toEqual(new Uint16Array(numbers));
  });

  test.each([
    { kind: 'redirect', redirect: { url: '/a;b', type: 'push', status: 303 } },
    { kind: 'refusal', reason: 'sold_out', message: 'Sold out.', status: 409, data: { at: new Date(0) } },
  ] as Answer[])('R1 a $kind survives', (answer) => {
    expect(decodeAnswer(encodeAnswer(answer))).toStrictEqual(answer);
  });
});

describe('R3 how an answer is written', () => {
  const envelope = '[{"kind":1,"data":2},"data",{"id":3},"o1"]';
  const response = { status: 201, headers: [], body: '' } as unknown as Extract<
    Answer,
    { kind: 'response' }
  >['response'];

  test('R3 a result alone has nothing around it', () => {
    expect(encodeAnswer(data({ id: 'o1' }))).toBe('d[{"id":1},"o1"]');
    expect(encodeAnswer(data(undefined))).toBe('d-1');
  });

  test('R3 as versions before have written it, it is read', () => {
    expect(decodeAnswer(envelope)).toStrictEqual(data({ id: 'o1' }));
    expect(decodeAnswer('[{"kind":1,"data":-1},"data"]')).toStrictEqual(data(undefined));
  });

  test('R3 the address that it leads to stands beside it, where a version before reads the result alone', () => {
    const answer: Answer = { kind: 'data', data: { id: 'o1' }, redirectTo: '/orders/o1' };
    const text = encodeAnswer(answer);
    expect(text).toBe('[{"kind":1,"data":2,"redirectTo":4},"data",{"id":3},"o1","/orders/o1"]');
    expect(decodeAnswer(text)).toStrictEqual(answer);
    // Whatever does not begin with the mark of a result alone it parses, and takes the fields that it knows by their names.
    const { kind, data: result } = parse(text);
    expect([kind, result]).toStrictEqual(['data', { id: 'o1' }]);
    expect(encodeAnswer({ kind: 'data', data: { id: 'o1' }, redirectTo: '/o' }, 'POST')).toContain('"method"');
  });

  test('R3 a step is written as versions before can read it', () => {
    expect(encodeStep('result of pay', { id: 'o1' })).toBe(envelope);
    expect(decodeAnswer(encodeStep('result of pay', { id: 'o1' }, 2))).toMatchObject(data({ id: 'o1' }));
    expect(() => encodeStep('result of pay', 'x'.repeat(MAX_RESULT_BYTES))).toThrow(/^The result of pay is too large/);
  });

  test('R3 no JSON: a version before takes no result for a redirect', () => {
    expect(() => JSON.parse(encodeAnswer(data({ kind: 'redirect', redirect: { url: '/' } })))).toThrow(SyntaxError);
  });

  test.each([
    ['with its response', { kind: 'data', data: { id: 'o1' }, response }],
    ['that looks like an answer', data({ kind: 'refusal', reason: 'none' })],
    ['that looks like a stored one', data('d[{"id":1},"o1"]')],
  ] as [string, Answer][])('R1 a result %s survives', (_, answer) => {
    expect(decodeAnswer(encodeAnswer(answer))).toStrictEqual(answer);
  });
});

describe('R4 the limit of 256 KiB', () => {
  const overhead = Buffer.byteLength(encodeAnswer(data('')));

  test('R4 exactly 256 KiB are stored, in bytes and not in characters', () => {
    expect(MAX_RESULT_BYTES).toBe(256 * 1024);
    const ascii = 'x'.repeat(MAX_RESULT_BYTES - overhead);
    expect(Buffer.byteLength(encodeAnswer(data(ascii)))).toBe(MAX_RESULT_BYTES);
    expect(stored(ascii)).toBe(ascii);
    const wide = '€'.repeat(Math.floor((MAX_RESULT_BYTES - overhead) / 3));
    expect(stored(wide)).toBe(wide);
  });

  test.each([
    ['one byte more', 'x'.repeat(MAX_RESULT_BYTES - overhead + 1)],
    ['as many characters of three bytes', '€'.repeat(MAX_RESULT_BYTES - overhead - 10)],
  ])('R4 %s is refused, with both sizes', (_, text) => {
    const refused = () => encodeAnswer(data(text));
    expect(refused).toThrow(ResultTooLargeError);
    expect(refused).toThrow(expect.objectContaining({ code: 'result_too_large', expected: 'at most 262144 bytes' }));
  });
});

describe('R1 what cannot be stored is refused clearly', () => {
  class Money {
    cents = 5;
  }

  test.each([
    [
      'a class instance',
      { order: { total: new Money() } },
      /result\.order\.total is an instance of Money\. Give its fields/,
    ],
    ['a function', { order: { pay: () => {} } }, /result\.order\.pay is a function\. Leave it out/],
    ['a promise that nobody awaited', { order: Promise.resolve(1) }, /result\.order is a promise\. Await it/],
    ['a symbol', { order: Symbol('s') }, /result\.order is a symbol\. Leave it out/],
    ['a name that is a symbol', { order: { [Symbol('s')]: 1 } }, /result\.order is an object with a symbol for a name/],
    [
      'the name __proto__',
      JSON.parse('{"order":{"__proto__":1}}'),
      /result\.order is an object with the name __proto__/,
    ],
    ['all of it', new Money(), /The result cannot be stored: result is an instance of Money/],
  ])('R1 %s, with its place, its kind and the fix, in each kind of answer', (_, value, words) => {
    const refusal: Answer = { kind: 'refusal', reason: 'no', message: 'No.', status: 422, data: value };
    const response = { status: 200, headers: [], body: '' };
    expect(() => encodeAnswer(data(value))).toThrow(ConfigurationError);
    expect(() => encodeAnswer(data(value))).toThrow(words);
    expect(() => encodeAnswer({ kind: 'data', data: value, response })).toThrow(words);
    expect(() => encodeStep('result of pay', value)).toThrow(
      new RegExp(words.source.replace('result cannot', 'result of pay cannot')),
    );
    expect(() => encodeAnswer(refusal)).toThrow(
      new RegExp(words.source.replace(/^The result/, 'The data of the refusal').replaceAll('result', 'data')),
    );
  });

  test('R1 the symbol by which Prisma shows rows with computed fields is no data, and no obstacle', () => {
    const row = { id: 1, [inspect.custom]: () => ({}) };
    expect(stored({ rows: [row] })).toStrictEqual({ rows: [{ id: 1 }] });
  });
});

describe('what cannot be stored is reported without what it says', () => {
  class Card {
    number = 'secret-4242';
  }
  const fails = () => {
    throw new Error('secret-4242');
  };

  test.each([
    ['a class instance', { card: new Card(), note: 'secret-note' }, 'result.card is an instance of Card'],
    ['a function that closes over it', { pay: () => 'secret-4242' }, 'result.pay is a function'],
    ['a symbol', { tag: Symbol('secret-4242') }, 'result.tag is a symbol'],
    [
      'what stands under a key of a Map',
      new Map([['secret-"4242")', new Card()]]),
      'result.get(…) is an instance of Card',
    ],
    ['the key of a Map itself', new Map([[new Card(), 1]]), /^result\.get.* is an instance of Card/],
    ['a getter that throws', Object.defineProperty({}, 'card', { get: fails, enumerable: true }), /threw Error$/],
  ])('of %s, its place and its type', (_, value, existing) => {
    let error: unknown;
    try {
      encodeAnswer(data(value));
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(ConfigurationError);
    const { existing: found } = error as ConfigurationError;
    if (typeof existing === 'string') expect(found).toBe(existing);
    else expect(found).toMatch(existing);
    // As a logger writes it: with causes, and the fields of each.
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
  });
});

describe('R3 what cannot be read', () => {
  test.each([
    ['an erased answer', null],
    ['an empty text', ''],
    ['half an answer', '[{"kind":1'],
    ['another format', '{"kind":"data"}'],
    ['a tag of a later version', '[["Money",1],5]'],
    ['a result that is cut off', 'd'],
    ['half a result', 'd[{"id":1'],
  ])('R3 %s is result_unreadable, never a crash', (_, text) => {
    expect(() => decodeAnswer(text)).toThrow(ResultUnreadableError);
    expect(() => decodeAnswer(text)).toThrow(expect.objectContaining({ code: 'result_unreadable' }));
  });

  test('of what cannot be parsed nothing is told but its size', () => {
    let error: unknown;
    try {
      decodeAnswer('secret-4242');
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ existing: '11 characters that are none', expected: 'a stored answer' });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
  });
});
