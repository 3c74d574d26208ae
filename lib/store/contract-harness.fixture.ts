import type { LostKeys } from './lost-keys.ts';
import type { Claim, Completion, ExecuteOptions } from './rows.ts';
import type { Store } from './store.ts';

/** A store under test, and what the suite must do behind its back. */
export interface Harness<Tx> {
  store: Store<Tx>;
  /** What enters lost keys beside that store; missing where nothing does. */
  lostKeys?: LostKeys<Tx>;
  /** The same database seen by another process: connections of its own. */
  rival: Store<Tx>;
  /** A business write in the transaction of the key. */
  write(tx: Tx, marker: string): Promise<void>;
  /** Tells whether that write was committed. */
  isWritten(marker: string): Promise<boolean>;
  /** Sends a statement that the database refuses. Rejects. */
  breakStatement(tx: Tx): Promise<void>;
  /** Takes the key from the execution that holds it, in its own transaction: a higher token. */
  overtake(tx: Tx, claim: Claim): Promise<void>;
  /** Resolves once this many connections wait for a lock. */
  untilWaiting(connections: number): Promise<void>;
  /** Moves a committed row's times into the past. */
  age(claim: Claim, ms: number): Promise<void>;
  /** Deletes the row of a claim. */
  forget(claim: Claim): Promise<void>;
  /** Gives a committed row a thing, without a ticket, unless another one has it by then. */
  hold(claim: Claim, thing: string): Promise<void>;
  /** What is stored of a thing: whose it is, where that is known. */
  holderOf(claim: Claim): Promise<{ principal: string | null; key: string | null } | undefined>;
  close(): Promise<void>;
}

export type Suite<Tx> = () => Harness<Tx>;

const HOUR = 3_600_000;
let keys = 0;

/** A claim of a key that nobody has used yet. */
export function claimOf(more: Partial<Claim> = {}): Claim {
  return {
    tenant: 'acme',
    principal: 'ann',
    operation: 'checkout',
    key: `key-${++keys}`,
    mintedAt: null,
    windowMs: 24 * HOUR,
    retentionMs: 25 * HOUR,
    fingerprint: { hash: new Uint8Array(32).fill(7), version: 1, secretId: 'abc' },
    schemaVersion: 3,
    waitMs: 10_000,
    ...more,
  };
}

export const HOW: ExecuteOptions = { timeoutMs: 20_000, maxWaitMs: 10_000, beforeCommit: () => {} };
export const DONE: Completion = { state: 'succeeded', result: '"done"' };

/** A refusal as it is stored: what it says of what was done, and why. Its data says the same of something else. */
export const refusedAs = (executed: boolean | 'unknown', reason = 'sold_out'): Completion => ({
  state: 'failed',
  result: JSON.stringify([
    { kind: 1, reason: 2, data: 3, executed: 5 },
    'refusal',
    reason,
    { executed: 4 },
    '\0\ud800',
    executed,
  ]),
});

/** A promise that is opened from outside: the barrier that stands in for a sleep. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
