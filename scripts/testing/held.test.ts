import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { rowsOf, withUnheld } from './held.ts';
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

test('each row of the page itself names a file', async () => {
  const page = await readFile('docs/failures.md', 'utf8');
  const lines = page.split('\n').filter((line) => /^\| (?!what happens |-)/.test(line));
  expect(lines.length).toBeGreaterThan(90);
  expect(rowsOf(page)).toHaveLength(lines.length);
});
