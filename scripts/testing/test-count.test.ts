import { expect, test } from 'vitest';
import { countOf } from './playwright-report.ts';
import { countIn, linesOf, sumOf, withExit } from './test-count.ts';

const result = (message?: string) => ({
  tests: [{ results: [{ status: message ? 'failed' : 'passed', error: message ? { message } : undefined }] }],
});
const report = {
  stats: { expected: 4, unexpected: 1, flaky: 1, skipped: 2 },
  suites: [
    {
      file: 'a.e2e.ts',
      specs: [{ title: 'passes', file: 'a.e2e.ts', line: 1, ok: true, ...result() }],
      suites: [
        { specs: [{ title: 'fails', file: 'b.e2e.ts', line: 2, ok: false, ...result('\u001b[31m1\n  for 2') }] },
      ],
    },
  ],
};

test('what failed is named once more behind everything, in short', () => {
  const vitest = {
    passed: 3,
    failed: 1,
    skipped: 0,
    files: [],
    failures: [{ test: '[unit] c.test.ts › adds', why: 'x'.repeat(999) }],
  };
  expect(linesOf(sumOf([vitest, countOf(report, 'default')]))).toEqual([
    '',
    'Failed:',
    '  [unit] c.test.ts › adds',
    `    ${'x'.repeat(200)}`,
    '  b.e2e.ts:2 › fails',
    '    1 for 2',
    '',
    '7 passed, 3 failed, 2 skipped',
  ]);
});

test('a test of Playwright is run again by the file that it is in, also where a fixture declares it', () => {
  expect(countOf(report, 'default').failures).toMatchObject([{ file: { on: 'default', path: 'e2e/a.e2e.ts' } }]);
});

test('the files are known of which a test has passed', () => {
  expect(countOf(report, 'default').files).toEqual(['e2e/a.e2e.ts']);
});

test('a run that has left nothing has no tests, and no failures are not announced', async () => {
  expect(linesOf(await countIn('not-there.json'))).toEqual(['', '0 passed, 0 failed']);
});

test('a program that ends badly without a failed test counts as one failure, by its name', async () => {
  const none = sumOf([]);
  expect(withExit(none, 'Playwright', 0)).toEqual(none);
  expect(withExit({ ...none, failed: 2 }, 'Playwright', 1).failed).toBe(2);
  expect(withExit(none, 'Playwright', null)).toMatchObject({ failed: 1, failures: [{ test: 'Playwright' }] });
});
