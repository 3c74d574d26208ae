import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decorrelatedJitter, equalJitter, fullJitter, parseHttpDate, parseRetryAfter } from './backoff.ts';

const draws = fc.double({ min: 0, max: 1, noNaN: true });
const attempts = fc.integer({ min: 1, max: 5000 });
const bases = fc.integer({ min: 1, max: 1000 });

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
    fc.assert(
      fc.property(attempts, bases, fc.nat(5000), draws, (attempt, baseMs, capMs, draw) => {
        const delay = fullJitter(attempt, { baseMs, capMs }, draw);
        return Number.isInteger(delay) && delay >= 0 && delay <= Math.min(capMs, baseMs * 2 ** (attempt - 1));
      }),
    );
  });
});

describe('H5 equal jitter', () => {
  test.each([
    [1, 50, 100],
    [2, 100, 200],
    [5, 800, 1600],
    [6, 1000, 2000],
    [2000, 1000, 2000],
  ])('H5 retry %d waits between %d and %d ms', (attempt, least, most) => {
    const how = { baseMs: 100, capMs: 2000 };
    expect(equalJitter(attempt, how, 0)).toBe(least);
    expect(equalJitter(attempt, how, 1)).toBe(most);
  });

  test('H5 is a whole number in the upper half of what full jitter may draw, for every draw', () => {
    fc.assert(
      fc.property(attempts, bases, fc.nat(5000), draws, (attempt, baseMs, capMs, draw) => {
        const delay = equalJitter(attempt, { baseMs, capMs }, draw);
        const most = Math.min(capMs, baseMs * 2 ** (attempt - 1));
        return Number.isInteger(delay) && delay >= Math.floor(most / 2) && delay <= most;
      }),
    );
  });
});

describe('H5 decorrelated jitter', () => {
  const how = { baseMs: 100, capMs: 2000 };

  test.each([
    [100, 300],
    [300, 900],
    [600, 1800],
    [700, 2000],
    [2000, 2000],
  ])('H5 after a wait of %d ms waits between the base and %d ms', (previous, most) => {
    expect(decorrelatedJitter(previous, how, 0)).toBe(100);
    expect(decorrelatedJitter(previous, how, 1)).toBe(most);
  });

  test('H5 stays between the base and the cap along every chain of draws', () => {
    fc.assert(
      fc.property(bases, fc.integer({ min: 1, max: 5000 }), fc.array(draws), (baseMs, capMs, chain) => {
        let previous = baseMs;
        for (const draw of chain) {
          const delay = decorrelatedJitter(previous, { baseMs, capMs }, draw);
          const most = Math.min(capMs, Math.max(baseMs, previous * 3));
          if (!Number.isInteger(delay) || delay < Math.min(baseMs, capMs) || delay > most) return false;
          previous = delay;
        }
        return true;
      }),
    );
  });

  test('H5 a base above the cap waits the cap', () => {
    expect(decorrelatedJitter(500, { baseMs: 500, capMs: 50 }, 0.5)).toBe(50);
  });
});

describe('H5 Retry-After', () => {
  const now = Date.UTC(2026, 10, 21, 16, 0, 0);

  test.each([
    ['0', 0],
    ['7', 7000],
    [' 7 ', 7000],
    ['120', 120_000],
    ['Sat, 21 Nov 2026 16:00:05 GMT', 5000],
    ['Sat, 21 Nov 2026 16:00:00 GMT', 0],
    ['Sat, 21 Nov 2026 15:59:00 GMT', 0],
    ['Sun, 22 Nov 2026 16:00:00 GMT', 86_400_000],
  ])('H5 %j asks for %d ms', (value, ms) => {
    expect(parseRetryAfter(value, now)).toBe(ms);
  });

  test.each([
    null,
    '',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '7, 7',
    '7s',
    'soon',
    '2026-11-21T16:00:05Z',
    'Sat, 21 Nov 2026 16:00:05',
    'Sat, 21 Nov 2026 16:00:05 UTC',
    'Sat, 21 nov 2026 16:00:05 GMT',
    'Saturday, 21-Nov-26 16:00:05 GMT',
    'Sat Nov 21 16:00:05 2026',
    'Sat, 31 Feb 2026 16:00:05 GMT',
    'Sat, 21 Nov 2026 24:00:05 GMT',
    'Sat, 21 Nov 2026 16:60:05 GMT',
    'Sat, 21 Nov 2026 16:00:61 GMT',
    'Sat, id Date',
  ])('H5 %j is ignored', (value) => {
    expect(parseRetryAfter(value, now)).toBeUndefined();
  });

  test('H5 more seconds than a number holds are for ever, not nonsense', () => {
    expect(parseRetryAfter('9'.repeat(400), now)).toBe(Number.POSITIVE_INFINITY);
  });

  test('H5 reads every IMF-fixdate that JavaScript writes', () => {
    const seconds = fc.integer({ min: 0, max: 4_102_444_800 });
    fc.assert(fc.property(seconds, (s) => parseHttpDate(new Date(s * 1000).toUTCString()) === s * 1000));
  });
});

test('with a factor of its own, equal jitter grows by that', () => {
  const how = { baseMs: 1000, capMs: 3_600_000, factor: 1.25 };
  expect([1, 2, 3, 100].map((attempt) => equalJitter(attempt, how, 1))).toEqual([1000, 1250, 1563, 3_600_000]);
  expect(equalJitter(2, how, 0)).toBe(625);
});
