import { createHash } from 'node:crypto';
import { isForgotten, isUnavailable } from './errors.ts';
import { type Arrival, Flight, type Kept, type Leg } from './flight.ts';
import {
  type Answer,
  currentRide,
  expectRides,
  LEVELS,
  type PoolLike,
  type Ride,
  type Rows,
  type Statement,
} from './ride.ts';
import { driverError, isAnswer } from './wire.ts';

/** A connection of the pool, checked out. */
interface ClientLike {
  /** `pg`'s pipeline mode, which takes no queries of others. */
  readonly pipeline?: boolean;
  /** The server process that the connection was told it has. `pg-native` tells none, and takes no queries of others. */
  readonly processID?: number | null;
  query: Query;
  release(broken?: unknown): void;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
}

interface Query {
  (flight: Flight): unknown;
  (config: QueryConfig, ...rest: unknown[]): Promise<QueryResult>;
}

interface QueryConfig {
  text?: string;
  values?: unknown[];
}

/** What Prisma's adapter reads of `pg`'s answer to BEGIN and COMMIT. */
interface QueryResult {
  command: string;
  rowCount: number | null;
  rows: Rows;
  fields: readonly never[];
}

const wrapped = new WeakSet<object>();
/** Pools whose COMMIT was not recognised: an adapter that speaks in another way. */
const strange = new WeakSet<object>();
/** How many rides were given up in a row. */
const givenUp = new WeakMap<object, number>();
/** So many mean that it is no accident: the client does something first in each of its transactions. */
const MAX_GIVEN_UP = 3;

/**
 * Makes an idempotent transaction as few round trips as the bare one: the claim travels with Prisma's BEGIN and the
 * completion with its COMMIT, on the transaction's own connection. Whatever else goes through the pool goes as before.
 *
 * `new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })`. Without this, or with
 * `pg-native` or `pg`'s pipeline mode, the kit sends statements of its own inside the transaction: the same guarantees,
 * four round trips more.
 *
 * @returns the same pool
 */
export function oncekitPool<Pool extends PoolLike>(pool: Pool): Pool {
  if (wrapped.has(pool)) return pool;
  wrapped.add(pool);
  expectRides();
  const connect = pool.connect as (...args: unknown[]) => unknown;
  pool.connect = ((...args: unknown[]) => {
    const ride = currentRide();
    // Another transaction before its own function has begun: which of the two that will get cannot be told.
    if (ride?.begun && ride.pool === pool) ride.giveUp?.();
    // With a callback it is `pool.query`, which is no transaction.
    if (!ride || ride.isOver || ride.pool || args.length > 0 || strange.has(pool)) return connect.apply(pool, args);
    ride.pool = pool;
    return (connect.call(pool) as Promise<ClientLike>).then((client) => {
      if (!client.pipeline && typeof client.processID === 'number') seatOn(client).ride = ride;
      return client;
    });
  }) as Pool['connect'];
  // A connection that came back without COMMIT or ROLLBACK carries nobody's statements into its next use.
  pool.on('acquire', (client: ClientLike) => {
    seatOn(client).ride = undefined;
  });
  return pool;
}

/** Its COMMIT was not recognised: from now on its transactions carry statements of their own. */
export function distrust(pool: PoolLike): void {
  strange.add(pool);
}

/** One read on a connection of a wrapped pool, outside a transaction. */
export async function ask(pool: PoolLike, statement: Statement): Promise<Rows> {
  const answer = await askOnce(pool, statement);
  if ('rows' in answer) return answer.rows;
  // The server has ended an idle connection, and the pool had not heard of it yet; or it keeps the statement no more.
  const mayAsk = isUnavailable(answer.error) || isForgotten(answer.error);
  const again = mayAsk ? await askOnce(pool, statement) : answer;
  if ('error' in again) throw again.error;
  return again.rows;
}

async function askOnce(pool: PoolLike, statement: Statement): Promise<Answer> {
  const client = await (pool.connect() as Promise<ClientLike>).catch((error) => {
    throw driverError(error);
  });
  // Its end is told by the statement; as an event that nobody listens to it would end the process.
  client.on('error', ignored);
  const answer = await new Promise<Answer>((told) => {
    const seat = seatOn(client);
    fly(seat, [legOf(seat, statement, told), ...greetings(client, seat)]);
  });
  client.off('error', ignored);
  client.release('error' in answer && isUnavailable(answer.error) ? answer.error : undefined);
  return answer;
}

const ignored = () => {};

/** What we know of a connection. */
interface Seat {
  readonly query: Query;
  readonly kept: Kept;
  ride?: Ride | undefined;
  /** Whether the server behind it stays the same, so that it may keep prepared statements. */
  isDirect?: boolean;
}

const seats = new WeakMap<ClientLike, Seat>();

function seatOn(client: ClientLike): Seat {
  const known = seats.get(client);
  if (known) return known;
  const query = client.query.bind(client) as Query;
  const seat: Seat = { query, kept: new Map() };
  seats.set(client, seat);
  client.query = ((config: QueryConfig, ...rest: unknown[]) => {
    const { ride } = seat;
    return ride ? carry(client, seat, ride, config, rest) : query(config, ...rest);
  }) as Query;
  return seat;
}

/** Looks at what is sent in a transaction that has a ride, and lets ours travel with it. */
function carry(client: ClientLike, seat: Seat, ride: Ride, config: QueryConfig, rest: unknown[]): unknown {
  const { query } = seat;
  const { text } = config;
  if (!ride.hasBegun) {
    if (text !== 'BEGIN' || ride.isOver) return query(config, ...rest); // no transaction that we know how to board
    ride.hasBegun = true;
    ride.giveUp = () => giveUp(seat, ride);
    return begin(client, seat, ride);
  }
  if (ride.begun) {
    // The client's own isolation level, which is not the operation's.
    if (text?.startsWith('SET TRANSACTION ISOLATION LEVEL ')) {
      ride.level = text;
      return Promise.resolve(resultOf('SET'));
    }
    ride.giveUp?.();
    return query(config, ...rest);
  }
  if (text === 'ROLLBACK' || text === 'COMMIT') seat.ride = undefined;
  if (text !== 'COMMIT' || ride.isOver || !ride.last) return query(config, ...rest);
  if (ride.pool) givenUp.delete(ride.pool);
  return commit(seat, ride, ride.last);
}

/**
 * The ride's own function has not begun, so somebody else's has: an extension of the client that opens another
 * transaction first, or does something first in this one. It gets the one it wanted, without our claim in it.
 */
function giveUp(seat: Seat, ride: Ride): void {
  ride.begun = undefined;
  seat.ride = undefined;
  const again = ['ROLLBACK', 'BEGIN', ...(ride.level ? [ride.level] : [])];
  fly(
    seat,
    again.map((text) => controlOf(text, ignored)),
  ); // what comes behind it fails as well
  if (!ride.pool) return;
  const times = (givenUp.get(ride.pool) ?? 0) + 1;
  givenUp.set(ride.pool, times);
  if (times >= MAX_GIVEN_UP) distrust(ride.pool);
}

/** BEGIN and `first`. Prisma waits for the one, the ride for the other. */
function begin(client: ClientLike, seat: Seat, ride: Ride): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    const begun = (arrival: Arrival) => ('error' in arrival ? reject(arrival.error) : resolve(resultOf(arrival.tag)));
    ride.begun = new Promise((told) => {
      fly(seat, [
        controlOf(`BEGIN ISOLATION LEVEL ${LEVELS[ride.isolationLevel]}`, begun),
        ...greetings(client, seat),
        legOf(seat, ride.first, told),
      ]);
    });
  });
}

/** `last` and COMMIT. */
function commit(seat: Seat, ride: Ride, statement: Statement): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    ride.ended = new Promise((land) => {
      let last: Answer;
      const committed = (arrival: Arrival) => {
        if ('tag' in arrival) {
          resolve(resultOf(arrival.tag));
          return land({ last, commit: arrival });
        }
        const lost = (error: unknown) => {
          reject(error);
          land({ last, commit: { error: driverError(error) } });
        };
        if (!isAnswer(arrival.error)) return lost(arrival.error);
        // Refused: `last`, and then the server has not even looked at COMMIT, or COMMIT. The transaction may be open.
        seat.query({ text: 'ROLLBACK' }).then((result) => {
          if ('rows' in last) return lost(arrival.error);
          // A pooler's word that it has lost its server: COMMIT may have arrived before.
          if (/^(08|58)/.test((arrival.error as { code: string }).code)) return lost(new Error('Lost by the pooler.'));
          // Prisma is told what COMMIT of such a transaction is answered with.
          resolve(result);
          land({ last, commit: { tag: 'ROLLBACK' } });
        }, lost);
      };
      fly(seat, [legOf(seat, statement, (answer) => (last = answer)), controlOf('COMMIT', committed)]);
    });
  });
}

const resultOf = (command: string): QueryResult => ({ command, rowCount: null, rows: [], fields: [] });

/** Sends them in one flight. */
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
function greetings(client: ClientLike, seat: Seat): Leg[] {
  if (seat.isDirect !== undefined) return [];
  const tell = (arrival: Arrival) => {
    if ('rows' in arrival) seat.isDirect = arrival.rows[0]?.pid === client.processID;
  };
  return [controlOf('SELECT pg_backend_pid() AS pid', tell)];
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
