import fc from 'fast-check';
import { describe, test } from 'vitest';
import { type KeyId, nameOf } from './scope.ts';

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
