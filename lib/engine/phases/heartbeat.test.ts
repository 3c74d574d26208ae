import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startHeartbeat } from './heartbeat.ts';

test('P3 a lease is counted from when its renewal was asked for, not from when it was answered', async () => {
  let asked = 0;
  const { signal, stop } = startHeartbeat({
    leaseMs: 900,
    renew: async () => {
      asked++;
      await wait(asked === 1 ? 200 : 100);
      if (asked === 1) return true;
      throw new Error('no answer');
    },
    isHeldAnyway: () => false,
    until: new AbortController().signal,
  });
  await once(signal, 'abort');
  stop();
  // Asked at 300 and answered at 500; asked in vain at 800 and 1200: the lease ended at 1200, not at 1400.
  expect(asked).toBeLessThanOrEqual(3);
});
