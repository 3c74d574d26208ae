import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startHeartbeat } from './heartbeat.ts';

test('P3 a lease is counted from when its renewal was asked for, not from when it was answered', async () => {
  // The clock goes on only while a renewal is under way.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  let asked = 0;
  const { signal, stop } = startHeartbeat({
    leaseMs: 90,
    renew: async () => {
      now += 30;
      if (++asked === 1) return true;
      throw new Error('no answer');
    },
    isRowLocked: () => false,
    until: new AbortController().signal,
  });
  await once(signal, 'abort');
  stop();
  // Asked at 0 and answered at 30; in vain until 60 and 90: the lease ended at 90, not at 120.
  expect(asked).toBe(3);
});
