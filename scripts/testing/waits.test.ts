import { expect, test } from 'vitest';
import { waitsIn } from './waits.ts';

// In pieces, for this file is looked at as well.
const now = 'performance' + '.now()';
const loop = 'for ' + '(;;)';
const pause = 'wait' + '(600)';

test.each([
  `expect(${now} - began).toBeLessThan(500);`,
  `expect(\n  ${now} - began,\n  'late',\n).toBeLessThanOrEqual(GRACE_MS);`,
  `${loop} {`,
  'while' + ' (!(await isThere()));',
  `await ${pause};`,
  'await vi.waitFor' + '(isThere, { timeout: 5_000 });',
  'await expect\n  .poll' + '(isThere, { timeout: 900 })\n  .toBe(true);',
])('%j is found', (text) => {
  expect(waitsIn(`\n${text}`)).toEqual([expect.stringMatching(/^[23]: /)]);
  expect(waitsIn(text.replace(/^/gm, '// Bounded: by the product.\n'))).toEqual([]);
});

test.each([
  `expect(${now} - began).toBeLessThan(bound(500));`,
  `expect(${now} - began).toBeGreaterThan(30);`,
  'await vi.waitFor(isThere, { timeout: 20_000 });',
  'await expect.poll(isThere).toBe(true);',
  "await until('it is there', isThere);",
  'await wait' + '(20);',
  `${loop} {\n  if (${now} > deadline) throw new Error('It does not come.');`,
])('%j is none', (text) => {
  expect(waitsIn(text)).toEqual([]);
});
