import { expect, test } from 'vitest';
import { LIMIT, reactBundles } from './react-bundles.ts';

test('B8 the first load is at most 4.4 kB, and what only rare states need is no part of it', async () => {
  const { first, rest } = await reactBundles();
  expect(LIMIT).toBe(4400);
  expect(first.gzipped).toBeLessThanOrEqual(LIMIT);
  const names = first.inputs.map(({ name }) => name);
  expect(names).toContain('lib/react/submission/submission.ts');
  expect(names).not.toContain('lib/react/recovery/recovery.ts');
  expect(rest.inputs.map(({ name }) => name)).toContain('lib/react/recovery/recovery.ts');
});
