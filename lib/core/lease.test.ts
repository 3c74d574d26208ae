import { expect, test } from 'vitest';
import { isLeaseDoubtful, renewalIntervalMs } from './lease.ts';

test('two renewals may be lost before the third comes too late', () => {
  const interval = renewalIntervalMs(30_000);
  expect(isLeaseDoubtful(0, 2 * interval, 30_000)).toBe(false);
  expect(isLeaseDoubtful(0, 30_000, 30_000)).toBe(true);
  expect(3 * interval).toBeLessThanOrEqual(30_000);
});
