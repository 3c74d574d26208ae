import { expect, test } from 'vitest';
import { cpuLines, workedIn } from './cpu.ts';

test('waiting for disks, idling and what other machines were given is no work', () => {
  expect(workedIn('cpu  1000 20 300 50000 700 4 6 90000 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0')).toBe(13.3);
});

test('the budget is told where it is known what a check takes here', () => {
  expect(cpuLines(830.4, 420_000, 69)).toEqual([
    '',
    '7.0 minutes, 830 CPU seconds of this machine, 12.0 times those of npm run check (69). The budget is 12.5 times.',
  ]);
  expect(cpuLines(830.4, 420_000, Number.NaN)).toEqual(['', '7.0 minutes, 830 CPU seconds of this machine']);
  expect(cpuLines(workedIn(''), 420_000, 69), 'no /proc/stat').toEqual(['', '7.0 minutes']);
});
