import { expect, test } from 'vitest';
import { measureSlowness, slownessOf } from './slowness.ts';

test('bounds grow with a slow machine, never shrink on a fast one, and have an end', () => {
  expect([10, 320, 512, 1e6].map(slownessOf)).toEqual([1, 1, 1.6, 8]);
});

test('a machine is measured', async () => {
  const factor = await measureSlowness();
  expect(factor).toBeGreaterThanOrEqual(1);
  expect(factor).toBeLessThanOrEqual(8);
});
