import { expect, test } from 'vitest';
import { nameOf, VARIANTS } from '../../shop/variants.ts';
import { buildsOf } from './builds.ts';

const variant = { cacheComponents: false, useOffline: false };
const own = { variant, which: ['keys.e2e'] };

test('a run has the build of its environment, and what it is asked for', () => {
  expect(buildsOf('other', own)).toEqual([own]);
});

test('test:all has everything on its own build, and behind that the forms in the wild with Cache Components', () => {
  const [first, ...more] = buildsOf('all', { variant, which: [] });
  expect(first).toEqual({ variant, which: [] });
  expect(more).toEqual([{ variant: { cacheComponents: true, useOffline: false }, which: ['wild-twins.e2e'] }]);
});

test('test:matrix has the same tests on all four', () => {
  const builds = buildsOf('matrix', own);
  expect(builds.map((build) => nameOf(build.variant))).toEqual(VARIANTS.map(nameOf));
  expect(new Set(builds.map(({ which }) => which.join())).size).toBe(1);
  expect(builds[0]?.which).toContain('matrix.e2e');
});
