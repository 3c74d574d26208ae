import { IdempotencyError } from '../../core/errors.ts';
import type { Awaitable } from '../../core/wait.ts';
import { type ExecuteOptions, GRACE_MS, type InDoubt, type RolledBack } from '../rows.ts';
import type { RawQueries } from './client.ts';
import {
  explainReadOnly,
  isConflict,
  isInvalidNumber,
  isLockTimeout,
  isMissingSchema,
  isNoRowsChanged,
  isOfState,
  isOutage,
  isReadOnly,
  isSetupFault,
  isStalePreparedStatement,
  isUnavailable,
  sqlState,
} from './errors.ts';
import type { Rows, Statement } from './statement.ts';

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
interface ExplainedRollback<Made = unknown> extends RolledBack {
  means: ErrorMeaning;
  made?: Made | undefined;
}

/** The stages as the port names them: what the answer is written with is a part of COMMIT. */
const AT = { claim: 'claim', run: 'run', completion: 'commit', commit: 'commit' } as const;

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

/** How far a transaction had come when something failed: its first statements, the user's code, its last statement, COMMIT. */
export type Stage = 'claim' | 'run' | 'completion' | 'commit';

/** The errors that some caller answers in a way of its own. */
type ErrorMeaning =
  | 'locked'
  | 'setup_fault'
  | 'missing_schema'
  | 'duplicate'
  | 'invalid_number'
  | 'overtaken'
  | 'aborted'
  | 'read_only'
  | 'other';

type Explanation = Pick<ExplainedRollback, 'means' | 'why'>;

interface Rule extends Partial<Explanation> {
  at: readonly Stage[];
  when: (error: unknown) => boolean;
}

const ALWAYS: readonly Stage[] = ['claim', 'run', 'completion', 'commit'];
/** The kit's own statements: a failure of the socket can be nobody else's there. In the handler it may be another service's. */
const OURS: readonly Stage[] = ['claim', 'completion', 'commit'];

// The first rule that fits says what the error means, and the first one with a reason why nothing was committed.
// docs/internals/calls.md has the same table in words.
const RULES: readonly Rule[] = [
  { at: ['claim'], when: isLockTimeout, means: 'locked' },
  { at: ['claim', 'run'], when: isSetupFault, means: 'setup_fault' },
  { at: OURS, when: isMissingSchema, means: 'missing_schema' },
  { at: ['completion'], when: isOfState('23505'), means: 'duplicate' },
  { at: ['completion'], when: isInvalidNumber, means: 'invalid_number' },
  { at: ['completion'], when: isNoRowsChanged, means: 'overtaken' },
  // An earlier statement of the transaction failed, so that this one was not even tried.
  { at: ALWAYS, when: isOfState('25P02'), means: 'aborted' },
  { at: ALWAYS, when: isReadOnly, means: 'read_only' },
  // Prepared anew, the statement goes through.
  { at: OURS, when: isStalePreparedStatement, why: 'conflict' },
  // Prisma 7.10 leaves a transaction open on the connection where queries of one tick fail in a nested one. ROLLBACK has ended it.
  { at: ['claim'], when: isOfState('25001'), why: 'conflict' },
  { at: OURS, when: isOutage, why: 'unavailable' },
  { at: ALWAYS, when: isConflict, why: 'conflict' },
  { at: ALWAYS, when: isUnavailable, why: 'unavailable' },
];

/**
 * Says what an error of a transaction means, by how far the transaction had come. `rolled_back`: nothing was committed, for
 * certain. `in_doubt`: COMMIT may have arrived.
 */
export function classify(error: unknown, stage: Stage): Explanation & { kind: 'rolled_back' | 'in_doubt' } {
  const rules = RULES.filter(({ at, when }) => at.includes(stage) && when(error));
  return {
    kind: (stage !== 'commit' || provesRollback(error)) && !isCommitted(error) ? 'rolled_back' : 'in_doubt',
    means: rules.find(({ means }) => means)?.means ?? 'other',
    why: rules.find(({ why }) => why)?.why ?? 'error',
  };
}

/**
 * Tells whether an error that came back for COMMIT proves that nothing was committed. A SQLSTATE is the server's own
 * answer; P2028 is Prisma's, which rolled an expired transaction back instead of committing it. An error of the connection
 * proves nothing: the COMMIT may have arrived.
 */
function provesRollback(error: unknown): boolean {
  // Where a client tries again by itself, one that could not begin says nothing of the one before it.
  if (codeOf(error) === 'P2028') return !messageOf(error).includes('Unable to start');
  return isReadOnly(error) || (sqlState(error) !== undefined && !isUnavailable(error));
}

/** Prisma has sent COMMIT before it was told to. */
function isCommitted(error: unknown): boolean {
  return codeOf(error) === 'P2028' && messageOf(error).includes('on a committed transaction');
}

const codeOf = (error: unknown) => (error as { code?: unknown } | null | undefined)?.code;
const messageOf = (error: unknown) => String((error as { message?: unknown }).message);

/** The error in words that say what to do, where the kit knows them; otherwise as it is. */
export function explain({ error, means }: { error: unknown; means: ErrorMeaning }): unknown {
  if (means === 'read_only') return explainReadOnly(error);
  if (means !== 'aborted') return error;
  return new IdempotencyError(
    'A statement of the handler failed and its error was caught; PostgreSQL has aborted the transaction. ' +
      'Look before you write (findUnique, ON CONFLICT) instead of catching, or let the error through.',
    { existing: 'an aborted transaction', expected: 'a transaction that can commit', cause: error },
  );
}
