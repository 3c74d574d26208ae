import { setTimeout as wait } from 'node:timers/promises';
import { LeaseLostError } from '../../core/errors.ts';
import { renewalIntervalMs } from '../../core/lease.ts';
import { settleWithin } from '../../core/wait.ts';

interface HeartbeatOptions {
  leaseMs: number;
  /** False: the key is somebody else's. Rejects when the database cannot be asked. */
  renew(): Promise<boolean>;
  /** Tells whether a transaction of the executor's own locks the key: it renews by itself, and a renewal would wait for it. */
  isRowLocked(): boolean;
  /** Ends it: a run that takes too long must lose its lease. */
  until: AbortSignal;
}

/**
 * Renews the lease while its executor lives. A renewal that could not be asked for is tried again; when none has
 * succeeded for as long as a lease lasts, another executor may have the key, and this one stops.
 */
export function startHeartbeat({ leaseMs, renew, isRowLocked, until }: HeartbeatOptions) {
  const lost = new AbortController();
  const stopping = new AbortController();
  let renewedAt = performance.now();
  let renewal: Promise<boolean | undefined> = Promise.resolve(undefined);

  const renewalInTime = () => settleWithin(renewal, renewalIntervalMs(leaseMs), () => undefined, { keepsAlive: false });

  async function beat(): Promise<void> {
    const askedAt = performance.now();
    renewal = isRowLocked() ? Promise.resolve(true) : renew().catch(() => undefined);
    // An answer that does not come must not keep the executor in its belief.
    const isRenewed = await renewalInTime();
    if (stopping.signal.aborted) return;
    if (isRenewed) renewedAt = askedAt;
    else if (isRenewed === false) lose('somebody else holds the key');
    // The database counts from later on than from when it was asked, so the executor gives up first.
    else if (performance.now() - renewedAt >= leaseMs) lose('no renewal succeeded in time');
  }

  function lose(existing: string): void {
    lost.abort(new LeaseLostError('The lease was lost; another executor goes on.', { existing, expected: 'a lease' }));
  }

  void (async () => {
    while (!lost.signal.aborted && !until.aborted) {
      await wait(renewalIntervalMs(leaseMs), undefined, { signal: stopping.signal });
      await beat();
    }
  })().catch(() => {}); // stopped
  return {
    /** Aborted when the lease is lost or may be, with a `LeaseLostError`. */
    signal: lost.signal,
    /** Ends it. Resolves when no renewal is under way any more, or none that could still be waited for. */
    stop: async () => {
      stopping.abort();
      await renewalInTime();
    },
  };
}
