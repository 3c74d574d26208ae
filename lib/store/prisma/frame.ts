import type { ExecuteOptions } from '../store.ts';
import type { RawQueries } from './client.ts';
import type { Answer, Rows, Statement } from './ride.ts';
import type { Rename } from './tables.ts';

/** How much later than its timeouts a transaction is given up whose connection says nothing any more. */
export const SILENCE_MS = 2000;

/** What the work between the two statements ends in: the second one, or the news that nothing is to be written. */
export type Work<Skipped> = { last: Statement } | { skip: Skipped };

export interface FrameOptions extends ExecuteOptions {
  /** Where the tables have names of their own. */
  rename?: Rename | undefined;
  /**
   * The client, under all its extensions, whose queries find by their context to a transaction of ours; it is one of
   * Prisma's where there is none.
   */
  ambient?: RawQueries | undefined;
}

export type Framed<Skipped> =
  /** `isProven`: the server said COMMIT, and was asked. Otherwise Prisma said so, which does not look. */
  | { kind: 'committed'; last: Rows; isProven: boolean }
  | { kind: 'skipped'; value: Skipped }
  /** Nothing was committed, for certain. `at`: what failed. */
  | { kind: 'rolled_back'; error: unknown; at: 'first' | 'work' | 'last' }
  /** COMMIT may have been sent, and no answer came. */
  | { kind: 'in_doubt'; error: unknown };

/** What the pool sends goes past the client that renames the rest. */
export function named(statement: Statement, rename: Rename | undefined): Statement {
  return rename ? { ...statement, text: rename(statement.text) } : statement;
}

export function rowsOf(answer: Answer): Rows {
  if ('error' in answer) throw answer.error;
  return answer.rows;
}
