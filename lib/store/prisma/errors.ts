import { IdempotencyError } from '../../core/errors.ts';
import { StoreUnavailableError } from '../store.ts';

interface Shape {
  name?: string;
  message?: unknown;
  meta?: { driverAdapterError?: { cause?: Cause } };
  cause?: Cause;
}

interface Cause {
  originalCode?: unknown;
  originalMessage?: unknown;
  kind?: unknown;
  severity?: unknown;
  /** Of a unique violation. Some versions of the adapter know the columns alone. */
  constraint?: { index?: string; fields?: readonly string[] } | undefined;
  table?: string | undefined;
}

/** Errors as `pg` gives them, of statements in transactions of the kit's own. Those of other connections prove nothing here. */
export const serverErrors = new WeakSet<object>();

/** The SQLSTATE behind a Prisma error, where the server gave one. */
export function sqlState(error: unknown): string | undefined {
  const code = driverCause(error)?.originalCode;
  return typeof code === 'string' ? code : undefined;
}

/** Tells errors by what the server calls them. */
export const isOfState =
  (...states: string[]) =>
  (error: unknown): boolean =>
    states.includes(sqlState(error) ?? '');

/** True where another's uncommitted claim kept its lock for all of `lock_timeout`. */
export const isLockTimeout = isOfState('55P03');

const isSerializationFailure = isOfState('40001', '40P01');

/** True for a serialization failure or a deadlock: run again, the transaction may go through. */
export function isConflict(error: unknown): boolean {
  return isSerializationFailure(error) || (error as { code?: unknown } | null)?.code === 'P2034';
}

/** Thrown where a statement that had to change a row found none, and has not failed by itself. */
export class NoRowsChangedError extends Error {
  override readonly name = 'NoRowsChangedError';
}

/** True where a statement that must change a row found none. Some say so by a division by the number of rows. */
export function isNoRowsChanged(error: unknown): boolean {
  return error instanceof NoRowsChangedError || sqlState(error) === '22012';
}

/** True where a text was no number: the completion's way to say that its transaction is not the one of the claim. */
export const isInvalidNumber = isOfState('22P02');

/** True where a statement names a schema, a table or a column that is not there. */
export const isMissingSchema = isOfState('3F000', '42P01', '42703');

/** True where the role may not do what the kit's statement does, or there is no unique index for its ON CONFLICT. */
export const isSetupFault = isOfState('42501', '42P10');

/** The server's message, where it gave one. Of a missing table or column it holds names alone. */
export function serverMessage(error: unknown): string | undefined {
  const words = driverCause(error)?.originalMessage ?? (error as Shape | null)?.message;
  return typeof words === 'string' ? words : undefined;
}

/** True where the server no longer knows a prepared statement, knows another of that name, or would answer in other columns. */
export const isStalePreparedStatement = isOfState('26000', '42P05', '0A000');

/** The error of the server or the socket: as `pg` gives it, or in the form of Prisma's adapter, by itself or inside one of Prisma's. */
function driverCause(error: unknown): Cause | undefined {
  if (serverErrors.has(error as object)) return driverError(error).cause;
  const { meta, cause, name } = (error ?? {}) as Shape;
  return meta?.driverAdapterError?.cause ?? (name === 'DriverAdapterError' ? cause : undefined);
}

/** SQLSTATEs by which a server, or a pooler before it, says that it cannot be asked now, with who says so. */
const UNAVAILABLE_STATES = [
  '08', // lost connections; 08P01 is all that PgBouncer says, whatever has happened
  '28000', // not let in, as while a password is changed
  '28P01',
  '3D000', // the database is gone, as while it is restored
  '25006', // takes no writes: a standby
  '25P03', // the transaction was idle for too long, or took too long
  '25P04',
  '40003', // CockroachDB, of a COMMIT whose result it does not know
  '53', // out of connections, memory or disk
  '57', // shutting down, starting up, idle for too long, cancelled
  '58000', // pgcat, whatever has happened
  '58030', // an I/O error
];
/** With these the session is over, under any SQLSTATE. Supavisor says so under XX000. */
const SESSION_OVER = new Set(['FATAL', 'PANIC']);
/** Prisma's codes for: not let in, cannot connect, timed out, no such database, closed the connection, pool exhausted. */
const UNAVAILABLE_PRISMA = /^P(1000|1001|1002|1003|1008|1010|1011|1017|2024|2028|2037)$/;
/** The name that Prisma's adapter gives an error without SQLSTATE. */
const UNAVAILABLE_KINDS = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TlsConnectionError']);
/**
 * Words of `pg`, as a plain Error, for a connection that died between two statements. To the letter: a handler may have
 * connections of its own, whose ends are no business of the store.
 */
const DEAD_CONNECTION =
  /^(Connection terminated( unexpectedly| due to connection timeout)?|Query read timeout|Client (has encountered a connection error|was closed) and is not queryable)$/;

/**
 * Tells whether an error of Prisma's, or of the kit about one, says that the database could not be reached or asked in time, or
 * takes no writes: a 503, and not a bug.
 */
export function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, name } = error as { code?: unknown; message?: unknown; name?: unknown };
  // By its name: a bundler may give a page and a route a copy of the class each.
  if (name === 'StoreUnavailableError') return true;
  if (SESSION_OVER.has(String(driverCause(error)?.severity))) return true;
  const state = sqlState(error);
  if (state !== undefined) return UNAVAILABLE_STATES.some((known) => state.startsWith(known));
  if (UNAVAILABLE_KINDS.has(String(driverCause(error)?.kind)) || UNAVAILABLE_PRISMA.test(String(code))) return true;
  // Errors of the socket that Prisma's adapter does not know keep Node's own code: ENETUNREACH, EAI_AGAIN.
  if (name === 'PrismaClientKnownRequestError' && /^E[A-Z]/.test(String(code))) return true;
  return typeof message === 'string' && DEAD_CONNECTION.test(message);
}

/**
 * The same of an error that a statement of the kit's has met, where a failure of the socket can be nobody else's: Prisma's
 * adapter passes most of them on as they are. In a handler it may be that of another service.
 */
export function isOutage(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  return isUnavailable(error) || (typeof code === 'string' && typeof syscall === 'string');
}

const isUniqueViolation = isOfState('23505');
/** How far a violation is looked for in what a handler has wrapped it in. */
const MAX_CAUSES = 3;

/**
 * Names the unique constraint of the app's own that a query has violated; by table and columns where nobody knows its name.
 * Undefined for any other error, of the kit too, and where the constraint is the kit's.
 *
 * @param isKits tells of the name of a table whether it is one of the kit's
 */
export function violatedConstraint(error: unknown, isKits: (table: string) => boolean, depth = 1): string | undefined {
  if (!(error instanceof Error) || error instanceof IdempotencyError) return undefined;
  if (!isUniqueViolation(error)) {
    return depth < MAX_CAUSES ? violatedConstraint(error.cause, isKits, depth + 1) : undefined;
  }
  const { constraint: { index, fields } = {}, table } = driverCause(error) ?? {};
  // An index is called after its table as a rule.
  if (isKits(table ?? index ?? '')) return undefined;
  return index ?? `${table ?? 'unnamed'}${fields ? `(${fields.join(', ')})` : ''}`;
}

/** Tells whether the transaction may not write: a standby, perhaps after a failover, or `default_transaction_read_only`. */
export const isReadOnly = isOfState('25006');

/** The error of a transaction that may not write, in words; other errors as they are. */
export function explainReadOnly(error: unknown): unknown {
  if (!isReadOnly(error)) return error;
  return new IdempotencyError(
    'The database takes no writes here (25006): it is a standby, or its default_transaction_read_only is on.',
    { existing: serverMessage(error), expected: 'the primary, with transactions that may write', cause: error },
  );
}

/** An outage in the kit's words. Where the time was up they are there already. */
export function outageError(error: unknown, afterMs: number): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  const words = sqlState(error) === undefined ? 'could not be reached' : 'answered that it cannot be asked now';
  return new StoreUnavailableError(`The database ${words}, after ${Math.ceil(afterMs)} ms.`, {
    cause: explainReadOnly(error),
  });
}

/** The error of a statement that was sent without Prisma, in the shape that PrismaPg gives it: it is read in one place. */
class DriverError extends Error {
  override readonly name = 'DriverAdapterError';
  override readonly cause: Cause;

  constructor(message: string, cause: DriverError['cause']) {
    super(message);
    this.cause = cause;
  }
}

interface Answer {
  severity: string;
  code: string;
  message: string;
  constraint?: string | undefined;
  table?: string | undefined;
}

/** Tells whether it came over the wire, and is not the connection's end. A pooler words the end of its own in such a way, too. */
export function isAnswer(error: unknown): error is Answer {
  const { severity, code } = (error ?? {}) as { severity?: unknown; code?: unknown };
  return typeof severity === 'string' && typeof code === 'string';
}

/** As the server refuses a write where it takes none. */
export const readOnlyError = (words = 'cannot execute INSERT in a read-only transaction') =>
  new DriverError(words, { originalCode: '25006', kind: 'postgres' });

export function driverError(error: unknown): DriverError {
  if (!isAnswer(error)) {
    return new DriverError(String((error as { message?: unknown } | null)?.message), { kind: 'ConnectionClosed' });
  }
  const { code, severity, message, constraint: index, table } = error;
  const constraint = index === undefined ? index : { index };
  return new DriverError(message, { originalCode: code, severity, kind: 'postgres', constraint, table });
}
