import { expect, test } from 'vitest';
import { resultOf, rowOf } from './run-row.ts';

const more = { flaky: 1, minutes: 8.25 };

test('a run is read by its last line, and becomes a line of the page', () => {
  const result = resultOf(['7 passed, 1 failed', '', '5155 passed, 0 failed, 4 skipped', ''], 0, more);
  expect(result).toEqual({ passed: 5155, failed: 0, skipped: 4, ...more });
  const at = new Date('2026-11-26T07:05:00Z');
  expect(rowOf({ at, commit: 'abc1234', isBurnt: true, ...result })).toBe(
    '| 2026-11-26 07:05 | abc1234 | burnt | 5155 | 0 | 4 | 1 | 8.3 |',
  );
});

test('one that has printed no such line has failed, and one that ended badly', () => {
  for (const lines of [[], ['5155 passed, 0 failed', 'Killed']]) {
    expect(resultOf(lines, 0, more)).toMatchObject({ passed: 0, failed: 1 });
  }
  expect(resultOf(['0 passed, 0 failed'], 1, more)).toMatchObject({ failed: 1 });
});
