import { IdempotencyError } from '../../core/errors.ts';
import type { RollbackReason } from '../rows.ts';
import {
  isAbortedTransaction,
  isConflict,
  isInvalidNumber,
  isLockTimeout,
  isMissingSchema,
  isNoRowsChanged,
  isSetupFault,
  isStalePreparedStatement,
  isTransactionLeftOpen,
  isUniqueViolation,
  sqlState,
} from './errors.ts';
import { explainReadOnly, isOutage, isReadOnly, isUnavailable } from './outage.ts';

/** How far a transaction had come when something failed: its first statements, the user's code, its last statement, COMMIT. */
export type Stage = 'claim' | 'run' | 'completion' | 'commit';

/** The errors that some caller answers in a way of its own. */
export type ErrorMeaning =
  | 'locked'
  | 'setup_fault'
  | 'missing_schema'
  | 'duplicate'
  | 'invalid_number'
  | 'overtaken'
  | 'aborted'
  | 'read_only'
  | 'other';

interface Classified {
  /** `rolled_back`: nothing was committed, for certain. `in_doubt`: COMMIT may have arrived. */
  kind: 'rolled_back' | 'in_doubt';
  means: ErrorMeaning;
  why: RollbackReason;
}

interface Rule {
  at: readonly Stage[];
  when: (error: unknown) => boolean;
  means?: ErrorMeaning;
  why?: RollbackReason;
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
  { at: ['completion'], when: isUniqueViolation, means: 'duplicate' },
  { at: ['completion'], when: isInvalidNumber, means: 'invalid_number' },
  { at: ['completion'], when: isNoRowsChanged, means: 'overtaken' },
  { at: ALWAYS, when: isAbortedTransaction, means: 'aborted' },
  { at: ALWAYS, when: isReadOnly, means: 'read_only' },
  // Prepared anew, the statement goes through.
  { at: OURS, when: isStalePreparedStatement, why: 'conflict' },
  // Prisma 7.10 leaves a transaction open on the connection where queries of one tick fail in a nested one.
  { at: ['claim'], when: isTransactionLeftOpen, why: 'conflict' },
  { at: OURS, when: isOutage, why: 'unavailable' },
  { at: ALWAYS, when: isConflict, why: 'conflict' },
  { at: ALWAYS, when: isUnavailable, why: 'unavailable' },
];

/** Says what an error of a transaction means, by how far the transaction had come. */
export function classify(error: unknown, stage: Stage): Classified {
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
