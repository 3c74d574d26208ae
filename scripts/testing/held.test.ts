import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { lackingRows, rowsOf, withUnheld } from './held.ts';
import { linesOf, sumOf } from './test-count.ts';

const PAGE = `
| what happens | the person sees | effects | held by |
|---|---|---|---|
| double click | [nothing](errors/failed.md) | 1 | [checkout](../e2e/checkout.e2e.ts), [lease](../lib/engine/lease.db.test.ts) |
| a new deployment | a \\| b | | [deployment](../e2e/deployment.e2e.ts) |

Plays: [a picture](screenshots/lab.png), [a test](../e2e/lab.e2e.ts).`;

test('a row of failures.md of which no test has run is red', () => {
  const judged = (...files: string[]) => linesOf(withUnheld({ ...sumOf([]), passed: 5, files }, PAGE));
  expect(judged('lib/engine/lease.db.test.ts', 'e2e/deployment.e2e.ts')).toEqual(['', '5 passed, 0 failed']);
  expect(judged('e2e/checkout.e2e.ts', 'e2e/lab.e2e.ts')).toEqual([
    '',
    'Failed:',
    '  docs/failures.md › a new deployment',
    expect.stringContaining('No test of e2e/deployment.e2e.ts has passed'),
    '',
    '5 passed, 1 failed',
  ]);
});

test('a row whose tests were skipped for want of a program is not red, and is known', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('WITHOUT', '');
  const file = 'e2e/deployment.e2e.ts';
  const count = { ...sumOf([]), passed: 5, files: ['e2e/checkout.e2e.ts'] };
  const lacking = { ...count, lacking: [{ program: 'nats' as const, file }] };
  expect([withUnheld(lacking, PAGE).failed, lackingRows(lacking, PAGE)]).toEqual([0, ['a new deployment']]);
  expect([withUnheld(count, PAGE).failed, lackingRows(count, PAGE)]).toEqual([1, []]);
  expect(lackingRows({ ...lacking, files: [...count.files, file] }, PAGE), 'others of its file have passed').toEqual(
    [],
  );
  // Nobody knows the component tests of a run without a browser.
  const page = PAGE.replace('../e2e/deployment.e2e.ts', '../lib/react/recovery.browser.test.tsx');
  expect(withUnheld(count, page).failed).toBe(1);
  vi.stubEnv('WITHOUT', 'chromium');
  expect([withUnheld(count, page).failed, lackingRows(count, page)]).toEqual([0, ['a new deployment']]);
});

test('each row of the page itself names a file', async () => {
  const page = await readFile('docs/failures.md', 'utf8');
  const lines = page.split('\n').filter((line) => /^\| (?!what happens |-)/.test(line));
  expect(lines.length).toBeGreaterThan(90);
  expect(rowsOf(page)).toHaveLength(lines.length);
});
