import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fullJitter } from './backoff.ts';

describe('C4 full jitter', () => {
  const how = { baseMs: 20, capMs: 500 };

  test.each([
    [1, 20],
    [2, 40],
    [3, 80],
    [5, 320],
    [6, 500],
    [2000, 500],
  ])('C4 retry %d waits at most %d ms', (attempt, most) => {
    expect(fullJitter(attempt, how, 1)).toBe(most);
    expect(fullJitter(attempt, how, 0.5)).toBe(most / 2);
    expect(fullJitter(attempt, how, 0)).toBe(0);
  });

  test('C4 is a whole number between nothing and the cap, for every draw', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.nat(5000),
        random,
        (attempt, baseMs, capMs, draw) => {
          const delay = fullJitter(attempt, { baseMs, capMs }, draw);
          return Number.isInteger(delay) && delay >= 0 && delay <= Math.min(capMs, baseMs * 2 ** (attempt - 1));
        },
      ),
    );
  });
});
