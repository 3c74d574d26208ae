import { checkedOut } from './checkout.ts';
import { isForgotten, isUnavailable } from './errors.ts';
import type { Answer, PoolLike, Ride, Rows, Statement } from './ride.ts';
import {
  askOn,
  beginOn,
  type ClientLike,
  commitOn,
  type QueryConfig,
  type QueryResult,
  resultOf,
  type Seat,
  seatOn,
  sendOn,
  takesFlights,
} from './seat.ts';
import { driverError } from './wire.ts';
import { commitWithheld } from './withheld.ts';
import { expectContexts, runWithin, within } from './within.ts';

const wrapped = new WeakSet<object>();
/** Pools whose COMMIT was not seen: an adapter that speaks to the server in another way. */
const strange = new WeakSet<object>();
/** How many rides were given up in a row. */
const givenUp = new WeakMap<object, number>();
/** So many mean that it is no accident: the client does something first in each of its transactions. */
const MAX_GIVEN_UP = 3;

/**
 * Makes an idempotent transaction as few round trips as the bare one: the claim travels with Prisma's BEGIN and the
 * completion with its COMMIT, on the transaction's own connection. Whatever else goes through the pool goes as before.
 *
 * A connection that the server ends while it is checked out fails its query; it never ends the process.
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
  expectContexts();
  const query = pool.query as (...args: never[]) => unknown;
  pool.query = ((...args: never[]) => {
    // ADR 37: what a phase has written must be there for whatever is asked behind it.
    const committing = commitWithheld();
    if (committing) return committing.then(() => (pool.query as (...args: never[]) => unknown)(...args));
    const here = within();
    here?.tellPool?.(pool);
    return here?.ambient?.pool === pool ? here.ambient.query(here, args) : query.apply(pool, args);
  }) as Pool['query'];
  const connect = pool.connect as (...args: unknown[]) => unknown;
  pool.connect = ((...args: unknown[]) => {
    const committing = commitWithheld();
    if (committing) return committing.then(() => (pool.connect as (...args: unknown[]) => unknown)(...args));
    const here = within();
    if (here?.ambient?.pool === pool) return here.ambient.connect(here, args as never[]);
    const ride = here?.ride;
    // Another transaction before its own function has begun: which of the two that will get cannot be told.
    if (ride?.begun && ride.pool === pool) ride.giveUp?.();
    const [told] = args;
    // With one it is `pool.query`, which is no transaction. The pool calls it in the context of whoever has given the
    // connection back, which may be within an execution.
    if (typeof told === 'function') {
      return connect.call(pool, (...given: unknown[]) => runWithin(here, () => told(...given)));
    }
    if (!ride || ride.isOver || ride.pool || strange.has(pool)) return connect.apply(pool, args);
    ride.pool = pool;
    return (connect.call(pool) as Promise<ClientLike>).then((client) => {
      if (takesFlights(client)) board(seatOn(client), ride);
      return client;
    });
  }) as Pool['connect'];
  // Each connection is known, and its end listened for, before the pool gives it away. One that came back without COMMIT
  // or ROLLBACK carries nobody's statements into its next use.
  pool.on('acquire', (client: ClientLike) => {
    seatOn(client).carry = undefined;
  });
  return pool;
}

/** Its COMMIT was not seen: from now on its transactions carry statements of their own. */
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
  const { seat, giveBack } = checkedOut(client);
  const answer = await askOn(seat, statement);
  giveBack('error' in answer && isUnavailable(answer.error) ? answer.error : undefined);
  return answer;
}

/** From now on the connection's queries are looked at. */
function board(seat: Seat, ride: Ride): void {
  seat.carry = (config, rest) => carry(seat, ride, config, rest);
}

/** Looks at what is sent in a transaction that has a ride, and lets ours travel with it. */
function carry(seat: Seat, ride: Ride, config: QueryConfig, rest: unknown[]): unknown {
  const { query } = seat;
  const { text } = config;
  if (!ride.hasBegun) {
    if (text !== 'BEGIN' || ride.isOver) return query(config, ...rest); // no transaction that we know how to board
    ride.hasBegun = true;
    ride.giveUp = () => giveUp(seat, ride);
    return begin(seat, ride);
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
  if (text === 'ROLLBACK' || text === 'COMMIT') seat.carry = undefined;
  if (text === 'ROLLBACK' || ride.isOver || !ride.last) return query(config, ...rest);
  if (ride.pool) givenUp.delete(ride.pool);
  if (text === 'COMMIT' && !ride.completed) return commit(seat, ride, ride.last);
  return completeBefore(seat, ride, ride.last, config, rest);
}

/**
 * The ride's own function has not begun, so somebody else's has: an extension of the client that opens another
 * transaction first, or does something first in this one. It gets the one it wanted, without our claim in it.
 */
function giveUp(seat: Seat, ride: Ride): void {
  ride.begun = undefined;
  seat.carry = undefined;
  sendOn(seat, ['ROLLBACK', 'BEGIN', ...(ride.level ? [ride.level] : [])]); // what comes behind it fails as well
  if (!ride.pool) return;
  const times = (givenUp.get(ride.pool) ?? 0) + 1;
  givenUp.set(ride.pool, times);
  if (times >= MAX_GIVEN_UP) distrust(ride.pool);
}

/** BEGIN and `first`. Prisma waits for the one, the ride for the other. */
async function begin(seat: Seat, ride: Ride): Promise<QueryResult> {
  const { begun, first } = beginOn(seat, ride.isolationLevel, ride.first);
  ride.begun = first;
  const arrival = await begun;
  if ('error' in arrival) throw arrival.error;
  return resultOf(arrival.tag);
}

/**
 * The work is done, so what comes now is COMMIT, in whatever words, or a query that nobody has awaited. `last` goes first:
 * at no moment may a process that dies leave a claim committed without its answer.
 */
async function completeBefore(
  seat: Seat,
  ride: Ride,
  last: Statement,
  config: QueryConfig,
  rest: unknown[],
): Promise<unknown> {
  ride.completed ??= askOn(seat, last);
  const completed = await ride.completed;
  const result = await seat.query(config, ...rest);
  const tag = result?.command;
  const hasEnded = tag === 'COMMIT' || (tag === 'ROLLBACK' && 'error' in completed);
  if (hasEnded) ride.ended = Promise.resolve({ last: completed, commit: { tag } });
  return result;
}

/** `last` and COMMIT. Where both were rolled back, Prisma is told what COMMIT of a failed transaction is answered with. */
async function commit(seat: Seat, ride: Ride, last: Statement): Promise<QueryResult> {
  ride.ended = commitOn(seat, last);
  const { commit } = await ride.ended;
  if ('error' in commit) throw commit.said;
  return resultOf(commit.tag);
}
