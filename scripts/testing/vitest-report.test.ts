import { expect, test } from 'vitest';
import { isTwentieth, progressLine } from './vitest-report.ts';

test('a line of progress comes with each twentieth of the files, and with each of few', () => {
  const lines = (ofFiles: number) =>
    Array.from({ length: ofFiles }, (_, at) => at + 1).filter((files) => isTwentieth({ files, ofFiles }));
  expect(lines(3)).toEqual([1, 2, 3]);
  expect(lines(342)).toHaveLength(20);
  expect(lines(342).slice(0, 2)).toEqual([18, 35]);
  expect(lines(342).at(-1)).toBe(342);
});

test('it says how far the run is', () => {
  const progress = { files: 120, ofFiles: 342, passed: 1734, failed: 1, ms: 84_000 };
  expect(progressLine(progress)).toBe('  120 of 342 files, 1,734 tests passed, 1 failed, 1.4 min');
});
