import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { excessOf, growthOf, measureKit } from './kit-size.ts';

test('lines of code, of comments and of tests, files and exported names', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kit-size-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'room'));
  const code = `/** Says
 * nothing. */
import {
  type A,
} from './a.ts';

// A comment of its own.
export const [text, other] = [\`two
lines\`, 1]; // and one behind code

export { b } from './b.ts';
/** Documented. */
export default function () {
  return <p>{/* of JSX */}</p>;
}
function own(): A {}
`;
  writeFileSync(path.join(folder, 'room/code.tsx'), code);
  writeFileSync(path.join(folder, 'type.ts'), 'export type One = 1;\nexport interface Two {}\n');
  for (const name of [
    'a.test.ts',
    'a.db.test.ts',
    'a.browser.test.tsx',
    'a.fixture.ts',
    'a.testsuite.ts',
    'a.test-d.ts',
  ]) {
    writeFileSync(path.join(folder, name), 'test();\n\n// two\n');
  }
  writeFileSync(path.join(folder, 'query.sql'), 'SELECT 1');
  expect(measureKit(folder)).toEqual({ code: 8, comments: 4, files: 2, exports: 5, tests: 18 });
});

test('what grows is said, what shrinks is not, and an allowance without a reason allows nothing', () => {
  const size = { code: 10, comments: 5, files: 2, exports: 3, tests: 20 };
  expect(growthOf(size, [{ ...size, why: 'the first' }])).toEqual([]);
  const last = { ...size, code: 8, files: 9, why: 'smaller' };
  expect(growthOf(size, [{ ...size, why: 'the first' }, last])).toEqual([
    'code: 10, 2 more than kit-size.json allows.',
  ]);
  expect(growthOf(size, [{ ...size, why: '' }])).toHaveLength(1);
});

test('what is above the ceiling is said, whatever its reason', () => {
  const size = { code: 10, comments: 5, files: 2, exports: 3, tests: 20 };
  expect(excessOf(size, { code: 10, files: 2 })).toEqual([]);
  expect(excessOf(size, { code: 9, files: 2, exports: 1 })).toEqual([
    'code: 10, 1 more than the ceiling of kit-size.ts.',
    'exports: 3, 2 more than the ceiling of kit-size.ts.',
  ]);
});
