import { IdempotencyError } from '../../core/errors.ts';
import type { RollbackReason } from '../store.ts';

/** Prisma's codes for: cannot connect, timed out, closed the connection, pool exhausted, transaction expired. */
const UNAVAILABLE_PRISMA = new Set(['P1001', 'P1002', 'P1008', 'P1011', 'P1017', 'P2024', 'P2028', 'P2037']);
const UNAVAILABLE_KIND = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TlsConnectionError',
]);
/**
 * What `pg` says, as a plain Error, when its connection died between two statements. To the letter: a handler may
 * have connections of its own, whose ends are no business of the store.
 */
const DEAD_CONNECTION =
  /^(Connection terminated( unexpectedly| due to connection timeout)?|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)$/;

interface Shape {
  name?: string;
  code?: unknown;
  message?: unknown;
  meta?: { driverAdapterError?: { cause?: Cause } };
  cause?: Cause;
}

interface Cause {
  originalCode?: unknown;
  originalMessage?: unknown;
  kind?: unknown;
}

/** Errors as `pg` gives them, of statements in transactions of the kit's own: those of other connections say nothing here. */
export const serverErrors = new WeakSet<object>();

/** The SQLSTATE behind a Prisma error, where the server gave one. */
export function sqlState(error: unknown): string | undefined {
  if (serverErrors.has(error as object)) return (error as { code: string }).code;
  const code = driverCause(error)?.originalCode;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the lock on another's uncommitted claim was not had within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** Whether a row of that key is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Whether an earlier statement of the transaction failed, so that this one was not even tried. */
export function isAbortedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02';
}

/** A statement that had to change a row found none, and has not failed by itself. */
export class NothingChangedError extends Error {
  override readonly name = 'NothingChangedError';
}

/** Whether a statement that must change a row found none. Some say so by a division by the number of rows. */
export function isNothingChanged(error: unknown): boolean {
  return error instanceof NothingChangedError || sqlState(error) === '22012';
}

/** Whether a text was no number: how the completion says that its transaction is not the one that was claimed in. */
export function isBadNumber(error: unknown): boolean {
  return sqlState(error) === '22P02';
}

/** Whether a schema, a table or a column is not there that a statement names. */
export function isSchemaGap(error: unknown): boolean {
  return ['3F000', '42P01', '42703'].includes(sqlState(error) ?? '');
}

/** Whether the role may not do what the kit's statement does, or there is no unique index for its ON CONFLICT. */
export function isSetUpFault(error: unknown): boolean {
  return ['42501', '42P10'].includes(sqlState(error) ?? '');
}

/** Whether the transaction may not write: a standby, perhaps after a failover, or `default_transaction_read_only`. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === '25006';
}

/** The same in words. It may pass, as a failover does, so it counts as a database that cannot be asked. */
export function explainedReadOnly(error: unknown): unknown {
  if (!isReadOnly(error)) return error;
  return new IdempotencyError(
    'The database takes no writes here (25006): it is a standby, or its default_transaction_read_only is on.',
    { existing: serverWords(error), expected: 'the primary, with transactions that may write', cause: error },
  );
}

/** What the server said in words, where it did. Of a missing table or column it holds names alone. */
export function serverWords(error: unknown): string | undefined {
  const words = driverCause(error)?.originalMessage ?? (error as Shape | null)?.message;
  return typeof words === 'string' ? words : undefined;
}

/** Whether the server knows a prepared statement no more, knows another of that name, or would answer in another shape. */
export function isForgotten(error: unknown): boolean {
  return ['26000', '42P05', '0A000'].includes(sqlState(error) ?? '');
}

/** Whether the connection was in a transaction already, which somebody has left open on it. ROLLBACK has ended that. */
export function isLeftOpen(error: unknown): boolean {
  return sqlState(error) === '25001';
}

/** Why a transaction that committed nothing did not. */
export function rollbackReason(error: unknown): RollbackReason {
  const state = sqlState(error);
  if (state === '40001' || state === '40P01' || (error as Shape)?.code === 'P2034') return 'conflict';
  return isUnavailable(error) ? 'unavailable' : 'error';
}

/**
 * Whether an error of Prisma's, or of the kit about one, says that the database could not be reached or asked in time:
 * a 503, and not a bug.
 */
export function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, name } = error as Shape;
  // By its name: a bundler may give a page and a route a copy of the class each.
  if (name === 'StoreUnavailableError') return true;
  const state = sqlState(error);
  // 08: connection exceptions; 53: out of connections, memory or disk; 57: shutting down, starting up, or out of time.
  if (state !== undefined) return /^(08|53|57)/.test(state);
  const kind = driverCause(error)?.kind;
  if (typeof kind === 'string' && UNAVAILABLE_KIND.has(kind)) return true;
  if (typeof code === 'string' && UNAVAILABLE_PRISMA.has(code)) return true;
  return typeof message === 'string' && DEAD_CONNECTION.test(message);
}

/**
 * Whether an error that came back for COMMIT proves that nothing was committed. A SQLSTATE is the server's own
 * answer; P2028 is Prisma's, which rolled an expired transaction back instead of committing it. Anything that smells
 * of a connection proves nothing: the COMMIT may have arrived.
 */
export function provesRollback(error: unknown): boolean {
  const { code, message } = (error ?? {}) as Shape;
  // Where a client tries again by itself, one that could not begin says nothing of the one before it.
  if (code === 'P2028') return !String(message).includes('Unable to start');
  return sqlState(error) !== undefined && !isUnavailable(error);
}

function driverCause(error: unknown): Cause | undefined {
  const { meta, cause, name } = (error ?? {}) as Shape;
  return meta?.driverAdapterError?.cause ?? (name === 'DriverAdapterError' ? cause : undefined);
}
