import { createHash } from 'node:crypto';
import {
  type Answer,
  currentFlight,
  expectFlights,
  type Flight,
  LEVELS,
  type PoolLike,
  type Rows,
  type Statement,
} from './flight.ts';
import { driverError, TYPES } from './wire.ts';

/** A connection of the pool, checked out. */
interface ClientLike {
  /** Whether a statement is sent without waiting for the answer to the one before. */
  readonly pipeline?: boolean;
  readonly binary?: boolean;
  /** The server process that the connection was told it has. */
  readonly processID?: number | null;
  query: Query;
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
 * kit sends statements of its own inside the transaction: the same guarantees, three round trips more.
 *
 * @returns the same pool
 */
export function oncekitPool<Pool extends PoolLike>(pool: Pool): Pool {
  if (wrapped.has(pool)) return pool;
  wrapped.add(pool);
  expectFlights();
  (pool.options as { pipeline?: boolean }).pipeline ??= true;
  const connect = pool.connect as (...args: unknown[]) => unknown;
  pool.connect = ((...args: unknown[]) => {
    const flight = currentFlight();
    // With a callback it is `pool.query`, which is no transaction.
    if (!flight || flight.pool || args.length > 0 || strange.has(pool)) return connect.apply(pool, args);
    flight.pool = pool;
    return (connect.call(pool) as Promise<ClientLike>).then((client) => {
      if (client.pipeline && !client.binary) seatOn(client).flight = flight;
      return client;
    });
  }) as Pool['connect'];
  // A connection that came back without COMMIT or ROLLBACK carries nobody's statements into its next use.
  pool.on('acquire', (client: ClientLike) => {
    seatOn(client).flight = undefined;
  });
  return pool;
}

/** Its COMMIT was not recognised: from now on its transactions carry statements of their own. */
export function distrust(pool: PoolLike): void {
  strange.add(pool);
}

/** What we know of a connection. */
interface Seat {
  flight?: Flight | undefined;
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
    const { flight } = seat;
    return flight ? carry(client, seat, flight, query, config, rest) : query(config, ...rest);
  };
  return seat;
}

/** Looks at what is sent in a transaction that has a flight, and lets ours travel with it. */
function carry(client: ClientLike, seat: Seat, flight: Flight, query: Query, config: QueryConfig, rest: unknown[]) {
  const { text } = config;
  if (!flight.hasBegun) {
    if (text !== 'BEGIN') return query(config, ...rest); // no transaction that we know how to board
    flight.hasBegun = true;
    const begun = query({ ...config, text: `BEGIN ISOLATION LEVEL ${LEVELS[flight.isolationLevel]}` });
    flight.begun = send(seat, query, flight.first);
    if (seat.isDirect === undefined) getToKnow(client, seat, query);
    return begun;
  }
  if (flight.begun) {
    // The flight's own function has not begun, so somebody else's has: an extension of the client that opens another
    // transaction first. It gets the one it wanted, without our claim in it.
    flight.begun = undefined;
    seat.flight = undefined;
    for (const text of ['ROLLBACK', 'BEGIN']) query({ text }).catch(() => {}); // what comes behind them fails as well
    return query(config, ...rest);
  }
  if (text === 'ROLLBACK' || text === 'COMMIT') seat.flight = undefined;
  if (text !== 'COMMIT' || flight.isEmpty || !flight.last) return query(config, ...rest);
  const last = send(seat, query, flight.last);
  const commit = query(config, ...rest);
  const tag = commit.then(
    ({ command }) => ({ tag: command }),
    (error: unknown) => ({ error: driverError(error) }),
  );
  flight.ended = last.then(async (answer) => ({ last: answer, commit: await tag }));
  return commit;
}

/** Planning our statements costs the server several times what executing them does, so it keeps them where it can. */
function send(seat: Seat, query: Query, { text, values }: Statement): Promise<Answer> {
  return query({ name: seat.isDirect ? nameOf(text) : undefined, text, values, types: TYPES }).then(
    ({ rows }) => ({ rows }),
    (error: unknown) => {
      if (FORGOTTEN.has((error as { code?: unknown }).code)) seat.isDirect = false;
      return { error: driverError(error) };
    },
  );
}

/** The server knows the prepared statement no more, knows another of that name, or would answer it in another shape. */
const FORGOTTEN = new Set<unknown>(['26000', '42P05', '0A000']);

/**
 * A pooler such as PgBouncer in transaction mode gives each transaction another server, which does not know what was
 * prepared on the one before. It tells its clients of a process that no server has.
 */
function getToKnow(client: ClientLike, seat: Seat, query: Query): void {
  query({ text: 'SELECT pg_backend_pid() AS pid', types: TYPES }).then(
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
