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

/** Errors as `pg` gives them, of statements in transactions of the kit's own: those of other connections say nothing here. */
export const serverErrors = new WeakSet<object>();

/** The SQLSTATE behind a Prisma error, where the server gave one. */
export function sqlState(error: unknown): string | undefined {
  if (serverErrors.has(error as object)) return (error as { code: string }).code;
  const code = driverCause(error)?.originalCode;
  return typeof code === 'string' ? code : undefined;
}

/** How bad it was, in the server's own word: behind `FATAL` and `PANIC` the session is over. */
export function severityOf(error: unknown): unknown {
  if (serverErrors.has(error as object)) return (error as { severity: unknown }).severity;
  return driverCause(error)?.severity;
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

/** The server's word, or the socket's, as Prisma's adapter has it, within an error of Prisma's or by itself. */
export function driverCause(error: unknown): Cause | undefined {
  const { meta, cause, name } = (error ?? {}) as Shape;
  return meta?.driverAdapterError?.cause ?? (name === 'DriverAdapterError' ? cause : undefined);
}
