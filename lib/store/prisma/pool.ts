import { createHash } from 'node:crypto';
import { isForgotten, isUnavailable } from './errors.ts';
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
import { driverError, TYPES } from './wire.ts';

/** A connection of the pool, checked out. */
interface ClientLike {
  /** Whether a statement is sent without waiting for the answer to the one before. */
  readonly pipeline?: boolean;
  readonly binary?: boolean;
  /** The server process that the connection was told it has. */
  readonly processID?: number | null;
  query: Query;
  release(broken?: unknown): void;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
}

type Query = (config: QueryConfig, ...rest: unknown[]) => Promise<QueryResult>;

interface QueryConfig extends Partial<Statement> {
  name?: string | undefined;
  types?: typeof TYPES;
}

interface QueryResult {
  command: string;
  rows: Rows;
}

const wrapped = new WeakSet<object>();
/** Pools whose COMMIT was not recognised: an adapter that speaks in another way. */
const strange = new WeakSet<object>();

/**
 * Makes an idempotent transaction as few round trips as the bare one: the claim travels with Prisma's BEGIN and the
 * completion with its COMMIT, on the transaction's own connection. Whatever else goes through the pool goes as before.
 *
 * `new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })`. The pool is put into
 * `pg`'s pipeline mode, unless it says `pipeline: false`. Without this, or with a `pg` that knows no pipeline mode, the
 * kit sends statements of its own inside the transaction: the same guarantees, four round trips more.
 *
 * @returns the same pool
 */
export function oncekitPool<Pool extends PoolLike>(pool: Pool): Pool {
  if (wrapped.has(pool)) return pool;
  wrapped.add(pool);
  expectRides();
  (pool.options as { pipeline?: boolean }).pipeline ??= true;
  const connect = pool.connect as (...args: unknown[]) => unknown;
  pool.connect = ((...args: unknown[]) => {
    const ride = currentRide();
    // With a callback it is `pool.query`, which is no transaction.
    if (!ride || ride.isOver || ride.pool || args.length > 0 || strange.has(pool)) return connect.apply(pool, args);
    ride.pool = pool;
    return (connect.call(pool) as Promise<ClientLike>).then((client) => {
      if (client.pipeline && !client.binary) seatOn(client).ride = ride;
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
  // The server has ended an idle connection, and the pool had not heard of it yet. A read may be asked again.
  const again = isUnavailable(answer.error) ? await askOnce(pool, statement) : answer;
  if ('error' in again) throw again.error;
  return again.rows;
}

async function askOnce(pool: PoolLike, statement: Statement): Promise<Answer> {
  const client = await (pool.connect() as Promise<ClientLike>).catch((error) => {
    throw driverError(error);
  });
  // Its end is told by the statement; as an event that nobody listens to it would end the process.
  client.on('error', ignored);
  const seat = seatOn(client);
  const query: Query = (config) => client.query(config);
  const answer = await send(seat, query, statement);
  if (seat.isDirect === undefined) await getToKnow(client, seat, query);
  client.off('error', ignored);
  client.release('error' in answer && isUnavailable(answer.error) ? answer.error : undefined);
  return answer;
}

const ignored = () => {};

/** What we know of a connection. */
interface Seat {
  ride?: Ride | undefined;
  /** Whether the server behind it stays the same, so that it may keep prepared statements. */
  isDirect?: boolean;
}

const seats = new WeakMap<ClientLike, Seat>();

function seatOn(client: ClientLike): Seat {
  const known = seats.get(client);
  if (known) return known;
  const seat: Seat = {};
  seats.set(client, seat);
  const query = client.query.bind(client);
  client.query = (config, ...rest) => {
    const { ride } = seat;
    return ride ? carry(client, seat, ride, query, config, rest) : query(config, ...rest);
  };
  return seat;
}

/** Looks at what is sent in a transaction that has a ride, and lets ours travel with it. */
function carry(client: ClientLike, seat: Seat, ride: Ride, query: Query, config: QueryConfig, rest: unknown[]) {
  const { text } = config;
  if (!ride.hasBegun) {
    if (text !== 'BEGIN') return query(config, ...rest); // no transaction that we know how to board
    ride.hasBegun = true;
    const begun = query({ ...config, text: `BEGIN ISOLATION LEVEL ${LEVELS[ride.isolationLevel]}` });
    ride.begun = send(seat, query, ride.first);
    if (seat.isDirect === undefined) getToKnow(client, seat, query);
    return begun;
  }
  if (ride.begun) {
    // The ride's own function has not begun, so somebody else's has: an extension of the client that opens another
    // transaction first. It gets the one it wanted, without our claim in it.
    ride.begun = undefined;
    seat.ride = undefined;
    for (const text of ['ROLLBACK', 'BEGIN']) query({ text }).catch(() => {}); // what comes behind them fails as well
    return query(config, ...rest);
  }
  if (text === 'ROLLBACK' || text === 'COMMIT') seat.ride = undefined;
  if (text !== 'COMMIT' || ride.isOver || !ride.last) return query(config, ...rest);
  const last = send(seat, query, ride.last);
  const commit = query(config, ...rest);
  const tag = commit.then(
    ({ command }) => ({ tag: command }),
    (error: unknown) => ({ error: driverError(error) }),
  );
  ride.ended = last.then(async (answer) => ({ last: answer, commit: await tag }));
  return commit;
}

/** Planning our statements costs the server several times what executing them does, so it keeps them where it can. */
function send(seat: Seat, query: Query, { text, values }: Statement): Promise<Answer> {
  return query({ name: seat.isDirect ? nameOf(text) : undefined, text, values, types: TYPES }).then(
    ({ rows }) => ({ rows }),
    (error: unknown) => {
      const told = driverError(error);
      if (isForgotten(told)) seat.isDirect = false;
      return { error: told };
    },
  );
}

/**
 * A pooler such as PgBouncer in transaction mode gives each transaction another server, which does not know what was
 * prepared on the one before. It tells its clients of a process that no server has.
 */
function getToKnow(client: ClientLike, seat: Seat, query: Query): Promise<void> {
  return query({ text: 'SELECT pg_backend_pid() AS pid', types: TYPES }).then(
    ({ rows }) => {
      seat.isDirect = (rows[0] as { pid: number }).pid === client.processID;
    },
    () => {}, // asked again with the next transaction
  );
}

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
