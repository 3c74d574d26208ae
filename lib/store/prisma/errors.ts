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
}

/** Errors as `pg` gives them, of statements in transactions of the kit's own. Those of other connections prove nothing here. */
export const serverErrors = new WeakSet<object>();

/** The SQLSTATE behind a Prisma error, where the server gave one. */
export function sqlState(error: unknown): string | undefined {
  if (serverErrors.has(error as object)) return (error as { code: string }).code;
  const code = driverCause(error)?.originalCode;
  return typeof code === 'string' ? code : undefined;
}

/** The server's own severity: after `FATAL` and `PANIC` the session is over. */
export function severityOf(error: unknown): unknown {
  if (serverErrors.has(error as object)) return (error as { severity: unknown }).severity;
  return driverCause(error)?.severity;
}

/** True where another's uncommitted claim kept its lock for all of `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** True where a row of that key is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** True for a serialization failure or a deadlock: run again, the transaction may go through. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01' || (error as { code?: unknown } | null)?.code === 'P2034';
}

/** True where an earlier statement of the transaction failed, so that this one was not even tried. */
export function isAbortedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02';
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
export function isInvalidNumber(error: unknown): boolean {
  return sqlState(error) === '22P02';
}

/** True where a statement names a schema, a table or a column that is not there. */
export function isMissingSchema(error: unknown): boolean {
  return ['3F000', '42P01', '42703'].includes(sqlState(error) ?? '');
}

/** True where the role may not do what the kit's statement does, or there is no unique index for its ON CONFLICT. */
export function isSetupFault(error: unknown): boolean {
  return ['42501', '42P10'].includes(sqlState(error) ?? '');
}

/** The server's message, where it gave one. Of a missing table or column it holds names alone. */
export function serverMessage(error: unknown): string | undefined {
  const words = driverCause(error)?.originalMessage ?? (error as Shape | null)?.message;
  return typeof words === 'string' ? words : undefined;
}

/** True where the server no longer knows a prepared statement, knows another of that name, or would answer in other columns. */
export function isStalePreparedStatement(error: unknown): boolean {
  return ['26000', '42P05', '0A000'].includes(sqlState(error) ?? '');
}

/** True where somebody had left a transaction open on the connection. ROLLBACK has ended that. */
export function isTransactionLeftOpen(error: unknown): boolean {
  return sqlState(error) === '25001';
}

/** The error of the server or the socket, in the form that Prisma's adapter gives it: inside one of Prisma's, or by itself. */
export function driverCause(error: unknown): Cause | undefined {
  const { meta, cause, name } = (error ?? {}) as Shape;
  return meta?.driverAdapterError?.cause ?? (name === 'DriverAdapterError' ? cause : undefined);
}
