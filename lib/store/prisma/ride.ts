import type { IsolationLevel } from '../store.ts';

/** A statement of ours, with its parameters. */
export interface Statement {
  text: string;
  values: readonly unknown[];
  /** It may wait for another transaction: whatever goes before it is answered first. */
  mayWait?: boolean | undefined;
}

export type Rows = readonly unknown[];

/** What came of a statement that nobody waits for at once. */
export type Answer = { rows: Rows } | { error: unknown };

/**
 * One transaction on its way through the user's pool (`pool.ts`): `first` goes out right behind BEGIN, `last` right
 * before COMMIT, each pair in one round trip. Nothing shows here where the client's pool is not ours.
 */
export interface Ride {
  readonly isolationLevel: IsolationLevel;
  readonly first: Statement;
  last?: Statement;
  /** Its transaction goes on without the pool's help, or has nothing to write: no statement of ours travels any more. */
  isOver?: boolean;
  /** The pool that has given it a connection. Whatever else connects from within it is no business of it. */
  pool?: PoolLike;
  /** BEGIN has been seen. */
  hasBegun?: boolean;
  /** There once `first` is on its way, until the transaction's own function takes it. Never rejects. */
  begun?: Promise<Answer> | undefined;
  /** The isolation level that the client asked for, which was not set: its transactions have the operation's. */
  level?: string;
  /** There once it has boarded: gives the transaction back to whoever else has begun it. */
  giveUp?: () => void;
  /** There once `last` is on its way without COMMIT. Never rejects. */
  completed?: Promise<Answer> | undefined;
  /** There once `last` and COMMIT are on their way. Never rejects. */
  ended?: Promise<Landing> | undefined;
}

/** What SQL calls an isolation level. */
export const LEVELS = {
  ReadCommitted: 'READ COMMITTED',
  RepeatableRead: 'REPEATABLE READ',
  Serializable: 'SERIALIZABLE',
} as const satisfies Record<IsolationLevel, string>;

/** What the server said to `last`, and to the COMMIT behind it: `tag` is ROLLBACK where the transaction had failed. */
export interface Landing {
  last: Answer;
  /** `error` in the kit's shape, `said` as `pg` has told it. */
  commit: { tag: string } | { error: unknown; said: unknown };
}

/** A pool of `pg`'s, by its shape: the kit imports none. */
export interface PoolLike {
  readonly options: object;
  readonly ending?: boolean;
  connect(...args: never[]): unknown;
  query(config: never): unknown;
  on(event: 'acquire', listener: (client: never) => void): unknown;
}
