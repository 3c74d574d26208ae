import { setTimeout as wait } from 'node:timers/promises';
import type { KeyId } from '../core/scope.ts';
import type { Leases, Verdict } from '../store/leases.ts';

/** A key as the admin saw it: the token tells whether anybody has gone on with it since. */
export type SeenKey = KeyId & { fencingToken: number };

/** `changed`: the key is no longer as the admin saw it, and nothing was done. */
export type Operated = 'recorded' | 'changed';

/** Drives a key on at once; `idempotency.completeKey` is one. */
export type Complete = (id: KeyId) => Promise<unknown>;

/** The writes behind an admin view. Each is recorded with its actor, in the statement that does it. */
export interface Operations {
  /**
   * Records what a person has found out about the foreign call of an `unknown` key: a compare-and-set on the state and
   * the token (S4). The same said twice is `recorded` once; a second click has `changed` nothing. Another verdict takes
   * the place of one that no run could act upon, such as a mistyped reference. The next run acts upon it, or this call
   * does where there is a `complete`.
   *
   * `succeeded`: with the provider's reference; the remaining steps run. `failed`: it did not happen and shall not; the
   * key ends in a refusal, through `onRefused`. `retry`: it is asked about or, where nobody can be asked, sent again.
   */
  resolve(id: SeenKey, verdict: Verdict, actor: string): Promise<Operated>;
  /**
   * Makes an unfinished key due at once, with its attempts counted anew, also one that was given up on. Never takes a
   * key from its executor: while a lease is live it has `changed`. Decides nothing, so a second click at most has it
   * looked at, and recorded, once more.
   */
  retryNow(id: SeenKey, actor: string): Promise<Operated>;
}

/** How long an admin waits to see the effect; it goes on without them. */
const PATIENCE_MS = 5000;

export function operationsOn(
  store: Pick<Leases<never>, 'recordVerdict' | 'retryNow'>,
  complete: Complete | undefined,
): Operations {
  const operated = async (id: SeenKey, isRecorded: boolean): Promise<Operated> => {
    if (!isRecorded) return 'changed';
    if (complete) await inPatience(complete, id);
    return 'recorded';
  };
  return {
    resolve: async (id, verdict, actor) => operated(id, await store.recordVerdict(id, verdict, actor)),
    retryNow: async (id, actor) => operated(id, await store.retryNow(id, actor)),
  };
}

async function inPatience(complete: Complete, { tenant, principal, operation, key }: SeenKey): Promise<void> {
  const bell = new AbortController();
  // What fails here must not hide that the verdict is recorded. Nothing is lost: the key is due, and a worker comes.
  const driven = Promise.resolve({ tenant, principal, operation, key })
    .then(complete)
    .catch(() => {});
  const enough = wait(PATIENCE_MS, undefined, { signal: bell.signal }).catch(() => {});
  await Promise.race([driven, enough]);
  bell.abort();
}
