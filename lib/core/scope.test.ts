import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from './errors.ts';
import { lengthPrefixed } from './length-prefix.ts';
import { assertScope, type KeyId, nameOf } from './scope.ts';

const PARTS = ['tenant', 'principal', 'operation', 'key'] as const;
const isSame = (a: KeyId, b: KeyId) => PARTS.every((part) => a[part] === b[part]);
const idOf = ([tenant = '', principal = '', operation = '', key = '']: string[]): KeyId => {
  return { tenant, principal, operation, key };
};

/** Text in which a forger could write lengths of their own; lone surrogates, too. */
const forged = fc.string({ unit: fc.constantFrom('0', '1', '2', ':', 'a', '\ud83d', '\udd11'), maxLength: 4 });
/** A text that is cut in four, wherever. */
const cuts = fc.array(fc.nat(12), { minLength: 3, maxLength: 3 }).map((at) => at.sort((a, b) => a - b));
const cut = (text: string, [a = 0, b = 0, c = 0]: number[]) => {
  return idOf([text.slice(0, a), text.slice(a, b), text.slice(b, c), text.slice(c)]);
};

describe('the name of a key', () => {
  test('K4 no two keys have the same, whatever is in their parts', () => {
    const id = fc.array(forged, { minLength: 4, maxLength: 4 }).map(idOf);
    fc.assert(
      fc.property(id, id, (a, b) => (nameOf(a) === nameOf(b)) === isSame(a, b)),
      { numRuns: 2000 },
    );
  });

  test('K4 the same text cut elsewhere is another one', () => {
    const text = fc.string({ unit: fc.constantFrom('1', ':', 'a'), minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(text, cuts, cuts, (whole, one, two) => {
        const [a, b] = [cut(whole, one), cut(whole, two)];
        return (nameOf(a) === nameOf(b)) === isSame(a, b);
      }),
      { numRuns: 2000 },
    );
  });
});

/** Well-formed text, with the characters that a forger would reach for. */
const part = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('\0', '\x01', '|', ',', 'a', 'é'), maxLength: 6 }),
);

describe('length prefix', () => {
  test('K4 no two different lists give the same bytes', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.array(part, { maxLength: 5 }), (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        return lengthPrefixed(...a).equals(lengthPrefixed(...b)) === same;
      }),
      { numRuns: 2000 },
    );
  });

  test('K4 the same text cut elsewhere gives other bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.nat(), fc.nat(), (text, one, two) => {
        const letters = [...text];
        const cut = (at: number) => [letters.slice(0, at).join(''), letters.slice(at).join('')];
        const [a, b] = [one % (letters.length + 1), two % (letters.length + 1)];
        return lengthPrefixed(...cut(a)).equals(lengthPrefixed(...cut(b))) === (a === b);
      }),
    );
  });

  test('K4 a part that imitates a prefix does not reach into its neighbour', () => {
    const crafted = `a\0\0\0\x01b`;
    expect(lengthPrefixed(crafted).equals(lengthPrefixed('a', 'b'))).toBe(false);
  });

  test('K4 the length is counted in bytes', () => {
    expect([...lengthPrefixed('é', '')]).toEqual([0, 0, 0, 2, 0xc3, 0xa9, 0, 0, 0, 0]);
  });

  test.each(['\ud800', 'a\udfffb', '\udc00\ud800'])(
    'K4 a lone surrogate is refused, since UTF-8 loses it: %j',
    (text) => {
      expect(() => lengthPrefixed('a', text)).toThrow(TypeError);
    },
  );
});

describe('scope', () => {
  const scope = { tenant: 'acme', principal: 'ann', operation: 'checkout' };

  test.each([
    ['the longest parts', { tenant: 't'.repeat(255), principal: 'p'.repeat(255), operation: 'o'.repeat(100) }],
    // PostgreSQL counts characters, JavaScript halves of them.
    ['255 emoji', { ...scope, principal: '🔑'.repeat(255) }],
  ])('K4 accepts %s', (_, accepted) => {
    expect(() => assertScope(accepted)).not.toThrow();
  });

  test.each([
    ['an empty tenant', { ...scope, tenant: '' }],
    ['an empty principal', { ...scope, principal: '' }],
    ['256 characters', { ...scope, principal: 'p'.repeat(256) }],
    ['an operation of 101', { ...scope, operation: 'o'.repeat(101) }],
    ['NUL, which PostgreSQL cannot hold', { ...scope, tenant: 'a\0b' }],
    ['a lone surrogate, which would become another name', { ...scope, principal: '\ud83d' }],
    ['null', { ...scope, principal: null as never }],
    ['undefined', { ...scope, tenant: undefined as never }],
    ['a number', { ...scope, principal: 7 as never }],
  ])('K4 refuses %s', (_, refused) => {
    expect(() => assertScope(refused)).toThrow(ConfigurationError);
  });

  test('K4 the refusal names the part and does not repeat its value', () => {
    expect(() => assertScope({ ...scope, principal: 'secret\0' })).toThrow(/principal/);
    expect(() => assertScope({ ...scope, principal: 'secret\0' })).not.toThrow(/secret/);
  });
});
