import { AsyncLocalStorage } from 'node:async_hooks';
import type { IsolationLevel } from '../store.ts';

/** A statement of ours, with its parameters. */
export interface Statement {
  text: string;
  values: readonly unknown[];
}

export type Rows = readonly unknown[];

/** What came of a statement that nobody waits for at once. */
export type Answer = { rows: Rows } | { error: unknown };

/**
 * One transaction on its way through the user's pool (`pool.ts`): `first` goes out right behind BEGIN, `last` right
 * before COMMIT, each pair in one round trip. Nothing shows here where the client's pool is not ours.
 */
export interface Flight {
  readonly isolationLevel: IsolationLevel;
  readonly first: Statement;
  last?: Statement;
  /** Nothing is to be written: COMMIT goes alone. */
  isEmpty?: boolean;
  /** The pool that has given it a connection. Whatever else connects from within it is no business of it. */
  pool?: PoolLike;
  /** BEGIN has been seen. */
  hasBegun?: boolean;
  /** There once `first` is on its way, until the transaction's own function takes it. Never rejects. */
  begun?: Promise<Answer> | undefined;
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
  commit: { tag: string } | { error: unknown };
}

/** A pool of `pg`'s, by its shape: the kit imports none. */
export interface PoolLike {
  readonly options: object;
  connect(...args: never[]): unknown;
  query(config: never): unknown;
  on(event: 'acquire', listener: (client: never) => void): unknown;
}

// On the global object: a bundler may give the app's client and its pages a copy of this module each.
const FLIGHTS = Symbol.for('oncekit.flights');
const shared = globalThis as { [FLIGHTS]?: AsyncLocalStorage<Flight> };

/** Before the first pool is wrapped there is nobody to look, and an async context costs every promise of the process. */
export function expectFlights(): void {
  shared[FLIGHTS] ??= new AsyncLocalStorage<Flight>();
}

/** The flight of the transaction that is calling, if there is one. */
export function currentFlight(): Flight | undefined {
  return shared[FLIGHTS]?.getStore();
}

/** Runs a transaction of the user's client so that its pool finds the flight. */
export function inFlight<T>(flight: Flight, transact: () => Promise<T>): Promise<T> {
  const flights = shared[FLIGHTS];
  return flights ? flights.run(flight, transact) : transact();
}
