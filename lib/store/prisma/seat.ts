import { createHash } from 'node:crypto';
import type { IsolationLevel } from '../store.ts';
import { isForgotten } from './errors.ts';
import { type Arrival, Flight, type Kept, type Leg } from './flight.ts';
import { type Answer, type Landing, LEVELS, type Rows, type Statement } from './ride.ts';
import { driverError, isAnswer } from './wire.ts';

/** A connection of the pool, checked out. */
export interface ClientLike {
  /** `pg`'s pipeline mode, which takes no queries of others. */
  readonly pipeline?: boolean;
  /** The server process that the connection was told it has. `pg-native` tells none, and takes no queries of others. */
  readonly processID?: number | null;
  query: Query;
  release(broken?: unknown): void;
  on(event: 'error', listener: () => void): unknown;
}

interface Query {
  (flight: Flight): unknown;
  (config: QueryConfig, ...rest: unknown[]): Promise<QueryResult>;
}

export interface QueryConfig {
  text?: string;
  values?: unknown[];
}

/** What Prisma's adapter reads of `pg`'s answer to BEGIN and COMMIT. */
export interface QueryResult {
  command: string;
  rowCount: number | null;
  rows: Rows;
  fields: readonly never[];
}

export const resultOf = (command: string): QueryResult => ({ command, rowCount: null, rows: [], fields: [] });

/** What we know of a connection. */
export interface Seat {
  readonly client: ClientLike;
  /** The connection's own. */
  readonly query: Query;
  readonly kept: Kept;
  /** What becomes of the queries that are made on it, while somebody wants to know of them. */
  carry?: ((config: QueryConfig, rest: unknown[]) => unknown) | undefined;
  /** Whether the server behind it stays the same, so that it may keep prepared statements. */
  isDirect?: boolean;
}

const seats = new WeakMap<ClientLike, Seat>();

export function seatOn(client: ClientLike): Seat {
  const known = seats.get(client);
  if (known) return known;
  // The pool stops listening when it gives the connection away, and its user begins some moments later: a server process
  // that ends between the two would end this process. Its queries fail, and the pool drops it, without our help.
  client.on('error', ignored);
  const query = client.query.bind(client) as Query;
  const seat: Seat = { client, query, kept: new Map() };
  seats.set(client, seat);
  client.query = ((config: QueryConfig, ...rest: unknown[]) =>
    seat.carry ? seat.carry(config, rest) : query(config, ...rest)) as Query;
  return seat;
}

/** Whether it takes queries of our own making. */
export function takesFlights({ pipeline, processID }: ClientLike): boolean {
  return !pipeline && typeof processID === 'number';
}

/** One statement by itself. */
export function askOn(seat: Seat, statement: Statement): Promise<Answer> {
  return new Promise((told) => fly(seat, [legOf(seat, statement, told), ...greetings(seat)]));
}

/** BEGIN and `first`, in one flight. */
export function beginOn(
  seat: Seat,
  level: IsolationLevel,
  first: Statement,
): { begun: Promise<Arrival>; first: Promise<Answer> } {
  let begin: (arrival: Arrival) => void = ignored;
  const begun = new Promise<Arrival>((told) => {
    begin = told;
  });
  const answered = new Promise<Answer>((told) => {
    fly(seat, [
      controlOf(`BEGIN ISOLATION LEVEL ${LEVELS[level]}`, begin),
      ...greetings(seat),
      legOf(seat, first, told),
    ]);
  });
  return { begun, first: answered };
}

/** `last` and COMMIT, in one flight. Never rejects. */
export function commitOn(seat: Seat, statement: Statement): Promise<Landing> {
  return new Promise((land) => {
    let last: Answer;
    const committed = (arrival: Arrival) => {
      if ('tag' in arrival) return land({ last, commit: { tag: arrival.tag } });
      const lost = (error: unknown) => land({ last, commit: { error: driverError(error), said: error } });
      if (!isAnswer(arrival.error)) return lost(arrival.error);
      // Refused: `last`, and then the server has not even looked at COMMIT, or COMMIT. The transaction may be open.
      seat.query({ text: 'ROLLBACK' }).then(() => {
        if ('rows' in last) return lost(arrival.error);
        // A pooler's word that it has lost its server: COMMIT may have arrived before.
        if (/^(08|58)/.test((arrival.error as { code: string }).code)) return lost(new Error('Lost by the pooler.'));
        land({ last, commit: { tag: 'ROLLBACK' } });
      }, lost);
    };
    fly(seat, [legOf(seat, statement, (answer) => (last = answer)), controlOf('COMMIT', committed)]);
  });
}

/** Sends these in one flight, and waits for none. */
export function sendOn(seat: Seat, texts: readonly string[]): void {
  fly(
    seat,
    texts.map((text) => controlOf(text, ignored)),
  );
}

const ignored = () => {};

function fly(seat: Seat, legs: Leg[]): void {
  try {
    seat.query(new Flight(legs, seat.kept));
  } catch (error) {
    for (const leg of legs) leg.tell({ error });
  }
}

/**
 * On a connection that is not known yet: which process the server is. A pooler such as PgBouncer in transaction mode gives
 * each transaction another server, which does not know what was prepared on the one before, and tells its clients of a
 * process that no server has.
 */
function greetings(seat: Seat): Leg[] {
  if (seat.isDirect !== undefined) return [];
  const tell = (arrival: Arrival) => {
    if ('rows' in arrival) seat.isDirect = arrival.rows[0]?.pid === seat.client.processID;
  };
  return [{ text: 'SELECT pg_backend_pid() AS pid', values: [], tell }];
}

/** A statement of ours, which the server keeps where it can. */
function legOf(seat: Seat, { text, values, mayWait }: Statement, told: (answer: Answer) => void): Leg {
  const tell = (arrival: Arrival) => {
    if ('rows' in arrival) return told(arrival);
    const error = driverError(arrival.error);
    // It has lost what it kept: to DISCARD ALL, or it is not the same server after all.
    if (isForgotten(error)) seat.isDirect = false;
    told({ error });
  };
  return { text, values, mayWait, name: seat.isDirect ? nameOf(text) : undefined, tell };
}

/** One that is not ours alone. Not kept: a server that has forgotten what COMMIT is would leave the transaction open. */
const controlOf = (text: string, tell: Leg['tell']): Leg => ({
  text,
  values: [],
  mayWait: false,
  name: undefined,
  isControl: true,
  tell,
});

const names = new Map<string, string>();

/** By its text: two versions of the kit in one process do not take each other's statements for their own. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `oncekit_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    names.set(text, name);
  }
  return name;
}
