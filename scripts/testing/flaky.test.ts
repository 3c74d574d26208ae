import { expect, test } from 'vitest';
import { COUNTED } from './effects-mark.ts';
import { flakyLines, judge, withOpenLines } from './flaky.ts';
import { type Count, type Failure, linesOf, type TestFile } from './test-count.ts';

const failure = (path: string, why = 'slow', test = 'fails'): Failure => ({
  test: `[unit] ${path} › ${test}`,
  why,
  file: { on: 'unit', path },
});
const first = (...failures: Failure[]): Count => ({
  passed: 10,
  failed: failures.length,
  skipped: 0,
  files: [],
  lacking: [],
  failures,
});
const PASSES: Count = { passed: 4, failed: 0, skipped: 0, files: [], lacking: [], failures: [] };

/** Judges a run whose files end like this when they run again, and says which did. */
async function judged(count: Count, again: Count = PASSES) {
  const ran: TestFile[] = [];
  const result = await judge(count, async (file) => {
    ran.push(file);
    return again;
  });
  return { ...result, ran };
}

test('a file that passes when it runs again was flaky: each of its failures counts as passed, and is told', async () => {
  const { count, flaky, ran } = await judged(first(failure('a', 'late'), failure('a', 'later', 'too'), failure('b')));
  expect(ran).toEqual([
    { on: 'unit', path: 'a' },
    { on: 'unit', path: 'b' },
  ]);
  expect(count).toEqual({ passed: 13, failed: 0, skipped: 0, files: [], lacking: [], failures: [] });
  expect(flaky).toHaveLength(3);
  expect(flakyLines(flaky.slice(0, 1), '2026-01-02')).toEqual([
    '',
    'Flaky, failed and then passed when the file ran again, alone:',
    '  [unit] a › fails',
    '    late',
    '',
    'Add to docs/flaky.md, and mend it before other work:',
    '  - [ ] 2026-01-02 [unit] a › fails: late',
  ]);
  expect(flakyLines([], '2026-01-02')).toEqual([]);
});

test('a file that fails again has failed, with both errors', async () => {
  const again = { ...PASSES, failed: 1, failures: [failure('a', 'once more')] };
  const { count, flaky } = await judged(first(failure('a'), failure('a', 'late', 'other')), again);
  expect(flaky).toEqual([]);
  expect(count.failed).toBe(2);
  expect(linesOf(count).slice(2, -2)).toEqual([
    '  [unit] a › fails',
    '    slow',
    '    run again, alone: once more',
    '  [unit] a › other',
    '    late',
    '    run again, alone: passed, but others of its file did not',
  ]);
});

test('a file of which nothing runs again has not passed', async () => {
  expect((await judged(first(failure('a')), { ...PASSES, passed: 0 })).count).toMatchObject({ passed: 10, failed: 1 });
});

test.each<[string, Failure[]]>([
  ['an error outside of tests', [{ test: 'outside of all tests', why: 'terminated' }]],
  ['effects that were counted', [failure('a', `${COUNTED}: expected 2 to be 1`)]],
  ['another failure of their file', [failure('a'), failure('a', `Error: ${COUNTED}\n\nexpect(received)`, 'other')]],
  ['more than three files', ['a', 'b', 'c', 'd'].map((path) => failure(path))],
])('never forgiven: %s', async (_, failures) => {
  const { count, flaky, ran } = await judged(first(...failures));
  expect(ran).toEqual([]);
  expect(flaky).toEqual([]);
  expect(count).toEqual(first(...failures));
});

test('beside what is never forgiven, another file still runs again', async () => {
  const { count, ran } = await judged(first({ test: 'the package', why: 'exited with 1' }, failure('a')));
  expect(ran).toHaveLength(1);
  expect(count).toMatchObject({ passed: 11, failed: 1, failures: [{ test: 'the package' }] });
});

test('five open lines of the page are a failure, four and the ticked ones are not', () => {
  const page = (open: number) => `# Page\n\n- [x] mended\n${'- [ ] 2026-01-02 a: slow\n'.repeat(open)}`;
  expect(withOpenLines(PASSES, page(4))).toEqual(PASSES);
  expect(withOpenLines(PASSES, page(5))).toMatchObject({ passed: 4, failed: 1, failures: [{ test: 'docs/flaky.md' }] });
});
