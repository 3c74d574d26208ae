import { expect, onTestFinished, test, vi } from 'vitest';
import { countOf } from './playwright-report.ts';
import { countIn, linesOf, skippedLines, sumOf, withExit } from './test-count.ts';

const result = (message?: string) => ({
  tests: [{ results: [{ status: message ? 'failed' : 'passed', error: message ? { message } : undefined }] }],
});
const spec = { title: 'passes', file: 'a.e2e.ts', line: 1, ok: true, ...result() };
const report = {
  stats: { expected: 4, unexpected: 1, flaky: 1, skipped: 2 },
  suites: [
    {
      file: 'a.e2e.ts',
      specs: [spec],
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
    lacking: [],
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

test('of skipped tests of Playwright those are told that lack a program; without a browser all do', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('WITHOUT', '');
  const skipped = (description: string) => ({ annotations: [{ description }], results: [{ status: 'skipped' }] });
  const specs = ['nats', 'on Linux alone'].map((why) => ({ ...spec, file: 'a.e2e.ts', tests: [skipped(why)] }));
  const lacking = () => countOf({ ...report, suites: [{ file: 'a.e2e.ts', specs }] }, 'default').lacking;
  expect(lacking(), 'NATS is there').toEqual([]);
  vi.stubEnv('WITHOUT', 'pgbouncer,nats');
  const file = 'e2e/a.e2e.ts';
  expect(lacking()).toEqual([{ program: 'nats', file }]);
  vi.stubEnv('WITHOUT', 'nats,chromium');
  expect(lacking()).toEqual([1, 2].map(() => ({ program: 'chromium', file })));
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

test('what was skipped is told: how many tests, for want of what, how to get it, and what was not looked at', () => {
  const lacking = (['nats', 'pgbouncer', 'nats'] as const).map((program) => ({ program, file: 'x' }));
  const why = new Map([
    ['chromium', 'Install one.'],
    ['nats', 'Install that.'],
  ] as const);
  expect(skippedLines({ lacking }, why, ['a row'])).toEqual([
    '',
    'Skipped, for want of a program:',
    '  Chromium: 0 tests, and what is not counted: component tests, and of test:all the package in an app',
    '    Install one.',
    '  NATS server: 2 tests',
    '    Install that.',
    'Not looked at here, of the rows of docs/failures.md:',
    '  a row',
  ]);
  expect(skippedLines({ lacking }, new Map(), [])).toEqual([]);
});
