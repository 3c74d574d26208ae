import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readmeDiff } from './diff.ts';
import { readPage, root } from './pages.ts';

const text = readFileSync(path.join(root, 'README.md'), 'utf8');

// That both sides of it compile is seen with all other code of the docs: compile.test.ts.
test('the diff in the README, the kit added to a form, changes at most 8 lines', () => {
  const diff = readmeDiff(readPage('README.md', text));
  const sum = (kind: 'added' | 'removed') => diff.reduce((lines, change) => lines + change[kind], 0);
  expect(sum('added')).toBeGreaterThan(0);
  expect(Math.max(sum('added'), sum('removed'))).toBeLessThanOrEqual(8);
});

test('the README begins with the two commands that set everything up', () => {
  expect(text.startsWith('# oncekit\n\n```sh\nnpm ci && npm run demo ')).toBe(true);
  expect(text.split('\n')[4]).toMatch(/^npm ci && npm test /);
});
