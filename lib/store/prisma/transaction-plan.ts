import type { Awaitable } from '../../core/wait.ts';
import { type ExecuteOptions, GRACE_MS, type InDoubt, type RolledBack } from '../rows.ts';
import { classify, type ErrorMeaning, type Stage } from './classify.ts';
import type { RawQueries } from './client.ts';
import type { Rows, Statement } from './statement.ts';
import type { CommitAnswer } from './wire/connection.ts';

/** How much later than its timeouts a transaction is given up whose connection no longer answers, in milliseconds. */
export const SILENCE_MS = 2000;

/** How long something may take, in milliseconds, that the caller waits for: no longer than its deadline allows. */
export function withinDeadline({ deadline = Number.POSITIVE_INFINITY }: Pick<ExecuteOptions, 'deadline'>, ms: number) {
  return Math.max(0, Math.min(ms, deadline + GRACE_MS - performance.now()));
}

/**
 * One transaction that begins with statements of the kit's and ends with another: without effect unless everything between
 * them is committed, too.
 */
export interface TransactionPlan<Tx, Claimed, Made extends Last, Conflict> {
  /** @param isOwn whether the transaction is the kit's own: then nobody but the kit sends its COMMIT */
  first(isOwn: boolean): readonly Statement[];
  /**
   * @param rows the answer to the last of `first`
   * @param db for statements of the kit's
   * @returns what is handed to `work`; or what was in the way, and then nothing is written
   */
  check(rows: Rows, db: RawQueries): Awaitable<{ claimed: Claimed } | { conflict: Conflict }>;
  /** Runs the user's code. @param tx the user's */
  work(tx: Tx, claimed: Claimed): Promise<Made>;
}

/** The statement that a transaction ends with, behind which COMMIT is sent. */
export interface Last {
  last: Statement;
}

/** How a transaction ended; `Conflict`: what was in the way of its claim. */
export type TransactionResult<Made, Conflict> =
  /** `isProven`: the server itself said COMMIT. Otherwise Prisma said so, which does not look at the server's answer. */
  { kind: 'committed'; made: Made; rows: Rows; isProven: boolean } | Conflict | ExplainedRollback<Made> | InDoubt;

/** `made` is there where the user's code had returned. */
export interface ExplainedRollback<Made = unknown> extends RolledBack {
  means: ErrorMeaning;
  made?: Made | undefined;
}

/** The stages as the port names them: what the answer is written with is a part of COMMIT. */
const AT = { claim: 'claim', run: 'run', completion: 'commit', commit: 'commit' } as const;

/** The result of a transaction whose last statement and COMMIT were sent together. */
export function commitResult<Made>({ last, commit }: CommitAnswer, made: Made): TransactionResult<Made, never> {
  if ('error' in commit) return failureResult(commit.error, 'commit', made);
  if (commit.tag === 'COMMIT' && 'rows' in last) return { kind: 'committed', made, rows: last.rows, isProven: true };
  const error = 'error' in last ? last.error : new Error(`COMMIT was answered with ${commit.tag}.`);
  return { ...rolledBack(error, 'completion'), made };
}

/** The result of a transaction in which something failed. */
export function failureResult<Made>(error: unknown, at: Stage, made?: Made): ExplainedRollback<Made> | InDoubt {
  const { kind, means, why } = classify(error, at);
  if (kind === 'in_doubt') return { kind, error };
  return { kind: 'rolled_back', error, at: AT[at], means, why, made };
}

/** The same before COMMIT was sent, or where the server has said that it rolled back. */
export function rolledBack(error: unknown, at: Exclude<Stage, 'commit'>): ExplainedRollback<never> {
  const { means, why } = classify(error, at);
  return { kind: 'rolled_back', error, at: AT[at], means, why };
}
