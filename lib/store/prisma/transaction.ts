import { type ExecuteOptions, GRACE_MS, type RollbackReason } from '../rows.ts';
import type { RawQueries } from './client.ts';
import type { OwnClient } from './client-pool.ts';
import type { Gate } from './db.ts';
import { isForgotten, isLeftOpen } from './errors.ts';
import { isOutage, provesRollback, rollbackReason } from './outage.ts';
import type { Rows, Statement } from './statement.ts';
import type { Rename } from './tables.ts';
import type { CommitAnswer } from './wire/connection.ts';

/** How much later than its timeouts a transaction is given up whose connection says nothing any more. */
export const SILENCE_MS = 2000;

/** How long something may take, in milliseconds, whose end the caller waits for. */
export function leftFor({ deadline = Number.POSITIVE_INFINITY }: TransactionOptions, ms: number): number {
  return Math.max(0, Math.min(ms, deadline + GRACE_MS - performance.now()));
}

/**
 * One transaction that begins with statements of ours and ends with another: of no effect unless everything between them is
 * committed too.
 */
export interface Plan<Tx, Skipped> {
  /** @param isOwn whether the transaction is the kit's own: then nobody but the kit sends its COMMIT */
  first(isOwn: boolean): readonly Statement[];
  /**
   * @param tx the user's
   * @param rows what the last of `first` was answered with
   * @param db for statements of ours
   */
  work(tx: Tx, rows: Rows, db: RawQueries): Promise<Work<Skipped>>;
}

/** What the work ends in: the last statement, or the news that nothing is to be written. */
export type Work<Skipped> = { last: Statement } | { skip: Skipped };

export interface TransactionOptions extends ExecuteOptions {
  /** Where the tables have names of their own. */
  rename?: Rename | undefined;
  /** The client in its part for transactions of the kit's own. None: they are Prisma's. */
  own?: OwnClient | undefined;
  /** For what is asked outside the transaction. */
  gate: Gate;
}

export type TransactionEnd<Skipped> =
  /** `isProven`: the server said COMMIT, and was asked. Otherwise Prisma said so, which does not look. */
  | { kind: 'committed'; last: Rows; isProven: boolean }
  | { kind: 'skipped'; value: Skipped }
  /** Nothing was committed, for certain. `at`: what failed. */
  | { kind: 'rolled_back'; error: unknown; at: 'first' | 'work' | 'last' | 'commit'; why?: RollbackReason }
  /** COMMIT may have been sent, and no answer came. */
  | { kind: 'in_doubt'; error: unknown };

/** What a transaction came to whose last statement and COMMIT were sent in one flight. */
export function endOfCommit<Skipped>({ last, commit }: CommitAnswer): TransactionEnd<Skipped> {
  if ('error' in commit) return endOfFailure(commit.error, 'commit');
  if (commit.tag === 'COMMIT' && 'rows' in last) return { kind: 'committed', last: last.rows, isProven: true };
  const error = 'error' in last ? last.error : new Error(`COMMIT was answered with ${commit.tag}.`);
  return { kind: 'rolled_back', error, at: 'last' };
}

/** What it came to, by what failed. */
export function endOfFailure<Skipped>(
  error: unknown,
  at: 'first' | 'work' | 'last' | 'commit',
): TransactionEnd<Skipped> {
  if (at !== 'commit') return { kind: 'rolled_back', error, at };
  return provesRollback(error) ? { kind: 'rolled_back', error, at } : { kind: 'in_doubt', error };
}

/**
 * Why it was rolled back. A statement that the server has forgotten is tried again as one that conflicts is. So is a
 * transaction that met an open one: Prisma 7.10 leaves it on the connection where queries of one tick fail in a nested one.
 */
export function rollbackReasonOf({
  error,
  at,
  why,
}: Extract<TransactionEnd<never>, { kind: 'rolled_back' }>): RollbackReason {
  const isPassing = (at !== 'work' && isForgotten(error)) || (at === 'first' && isLeftOpen(error));
  if (why ?? isPassing) return why ?? 'conflict';
  return at !== 'work' && isOutage(error) ? 'unavailable' : rollbackReason(error);
}
