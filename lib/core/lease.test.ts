import { expect, test } from 'vitest';
import { renewalIntervalMs } from './lease.ts';

test('two renewals may be lost before the third comes too late', () => {
  expect(3 * renewalIntervalMs(30_000)).toBeLessThanOrEqual(30_000);
});
