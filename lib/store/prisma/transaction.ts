import { type ExecuteOptions, GRACE_MS, type RollbackReason } from '../rows.ts';
import { classify, type Meaning, type Stage } from './classify.ts';
import type { RawQueries } from './client.ts';
import type { Rows, Statement } from './statement.ts';
import type { CommitAnswer } from './wire/connection.ts';

/** How much later than its timeouts a transaction is given up whose connection no longer answers, in milliseconds. */
export const SILENCE_MS = 2000;

/** How long something may take, in milliseconds, that the caller waits for: no longer than its deadline allows. */
export function timeLeft({ deadline = Number.POSITIVE_INFINITY }: Pick<ExecuteOptions, 'deadline'>, ms: number) {
  return Math.max(0, Math.min(ms, deadline + GRACE_MS - performance.now()));
}

/**
 * One transaction that begins with statements of the kit's and ends with another: without effect unless everything between
 * them is committed, too.
 */
export interface Plan<Tx, Skipped> {
  /** @param isOwn whether the transaction is the kit's own: then nobody but the kit sends its COMMIT */
  first(isOwn: boolean): readonly Statement[];
  /**
   * @param tx the user's
   * @param rows the answer to the last of `first`
   * @param db for statements of the kit's
   */
  work(tx: Tx, rows: Rows, db: RawQueries): Promise<Worked<Skipped>>;
}

/** The last statement, or the reason why nothing is to be written: then the transaction is rolled back. */
type Worked<Skipped> = { last: Statement } | { skip: Skipped };

export type TransactionOutcome<Skipped> =
  /** `isProven`: the server itself said COMMIT. Otherwise Prisma said so, which does not look at the server's answer. */
  | { kind: 'committed'; last: Rows; isProven: boolean }
  | { kind: 'skipped'; value: Skipped }
  | RolledBack
  /** COMMIT may have been sent, and no answer came. */
  | { kind: 'in_doubt'; error: unknown };

/** Nothing was committed, for certain. `at`: how far it had come. */
export interface RolledBack {
  kind: 'rolled_back';
  error: unknown;
  at: Stage;
  means: Meaning;
  why: RollbackReason;
}

/** The outcome of a transaction whose last statement and COMMIT were sent together. */
export function commitOutcome<Skipped>({ last, commit }: CommitAnswer): TransactionOutcome<Skipped> {
  if ('error' in commit) return failureOutcome(commit.error, 'commit');
  if (commit.tag === 'COMMIT' && 'rows' in last) return { kind: 'committed', last: last.rows, isProven: true };
  return rolledBack('error' in last ? last.error : new Error(`COMMIT was answered with ${commit.tag}.`), 'completion');
}

/** The outcome of a transaction in which something failed. */
export function failureOutcome<Skipped>(error: unknown, at: Stage): TransactionOutcome<Skipped> {
  const { kind, means, why } = classify(error, at);
  return kind === 'in_doubt' ? { kind, error } : { kind, error, at, means, why };
}

/** The same before COMMIT was sent, or where the server has said that it rolled back. */
export function rolledBack(error: unknown, at: Exclude<Stage, 'commit'>): RolledBack {
  const { means, why } = classify(error, at);
  return { kind: 'rolled_back', error, at, means, why };
}
