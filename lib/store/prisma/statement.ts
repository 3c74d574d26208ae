import type { IsolationLevel, Setting } from '../rows.ts';

/** A statement of the kit's, with its parameters. */
export interface Statement {
  text: string;
  /**
   * The cheaper text where COMMIT is not behind it on the wire: a row, or none where `text` fails. Whoever sends it looks
   * (`sendStatement`).
   */
  alone?: string | undefined;
  values: readonly unknown[];
  /** It may wait for another transaction, so the server is asked for its earlier answers before it. */
  mayWait?: boolean | undefined;
}

export type Rows = readonly unknown[];

/** The server's answer to one statement, as a value: nobody may be there to catch an error. */
type StatementAnswer = { rows: Rows } | { error: unknown };

/** Isolation levels as SQL has them. */
export const SQL_LEVELS = {
  ReadCommitted: 'READ COMMITTED',
  RepeatableRead: 'REPEATABLE READ',
  Serializable: 'SERIALIZABLE',
} as const satisfies Record<IsolationLevel, string>;

/** The level that a transaction is in, as a column of its first statement: a round trip of its own is saved by it. */
export const LEVEL = `current_setting('transaction_isolation') AS level`;

/** @throws the error that the statement was answered with */
export function rowsOf(answer: StatementAnswer): Rows {
  if ('error' in answer) throw answer.error;
  return answer.rows;
}

const SET = 'SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS given (name, value)';

/** Goes with BEGIN: names and values are bound, never a part of the SQL. Undefined where nothing is to be set. */
export function settingsStatement(settings: readonly Setting[] = []): Statement | undefined {
  if (settings.length === 0) return undefined;
  return { text: SET, values: [settings.map(([name]) => name), settings.map(([, value]) => value)] };
}
