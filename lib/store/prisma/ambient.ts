import { ConfigurationError } from '../../core/errors.ts';
import { StoreUnavailableError } from '../store.ts';
import { AmbientTransaction } from './ambient-transaction.ts';
import { bounded } from './bounded.ts';
import { type Checkout, checkedOut } from './checkout.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { type Framed, type FrameOptions, named, rowsOf, SILENCE_MS, type Work } from './frame.ts';
import { landed } from './landed.ts';
import { knownPoolOf, poolOf } from './pool-of.ts';
import { QueryQueue } from './query-queue.ts';
import { readThrough } from './read.ts';
import type { Landing, PoolLike, Rows, Statement } from './ride.ts';
import { beginOn, type ClientLike, commitOn, takesFlights } from './seat.ts';
import { driverError } from './wire.ts';
import { runWithin, within } from './within.ts';

/**
 * The same frame as `framed`, in a transaction of ours on a connection that we have taken from the user's pool: Prisma
 * takes each query in it for one by itself, which costs it less, and the pool sends it to that connection.
 *
 * @throws ConfigurationError for a client whose pool is not wrapped, and within another execution
 */
export async function framedAmbient<Tx extends RawQueries, Skipped>(
  client: PrismaClientLike,
  first: Statement,
  work: (tx: Tx, rows: Rows) => Promise<Work<Skipped>>,
  how: FrameOptions & { ambient: RawQueries },
): Promise<Framed<Skipped>> {
  const outer = within()?.ambient;
  outer?.assertOpen();
  if (outer) throw nested();
  let checkout: Checkout;
  let pool: PoolLike;
  try {
    pool = knownPoolOf(how.ambient) ?? (await bounded(() => poolOf(how.ambient), how.maxWaitMs, exhausted));
    readThrough(client, pool, how.rename);
    checkout = await connect(pool, how.maxWaitMs);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    return { kind: 'rolled_back', error, at: 'first' };
  }
  const { seat } = checkout;
  const deadline = performance.now() + how.timeoutMs;
  const queue = new QueryQueue(seat.query as (...args: never[]) => unknown);
  const transaction = new AmbientTransaction(how.ambient, pool, queue);
  let at: 'first' | 'work' = 'first';
  const perform = async (rows: Rows) => {
    const next = await runWithin(transaction.here, () => work(client as RawQueries as Tx, rows));
    transaction.finish();
    if (!('skip' in next)) await how.beforeCommit();
    return next;
  };
  try {
    const { first: answered } = beginOn(seat, how.isolationLevel ?? 'ReadCommitted', named(first, how.rename));
    // A claim that may wait has a limit of its own, and the server's word is better than our guess.
    const rows = rowsOf(await bounded(() => answered, how.timeoutMs + SILENCE_MS, overdue));
    at = 'work';
    const next = await bounded(() => perform(rows), deadline - performance.now(), overdue);
    if (!('skip' in next)) return await commit(checkout, named(next.last, how.rename), deadline + SILENCE_MS);
    await rollBack(checkout, queue);
    return { kind: 'skipped', value: next.skip };
  } catch (error) {
    // Before anything else is awaited: what is still running in the handler must find it closed.
    transaction.close();
    await rollBack(checkout, queue);
    return { kind: 'rolled_back', error, at };
  }
}

async function connect(pool: PoolLike, withinMs: number): Promise<Checkout> {
  const connecting = pool.connect() as Promise<ClientLike>;
  let client: ClientLike;
  try {
    client = await bounded(() => connecting, withinMs, exhausted);
  } catch (error) {
    connecting.then((late) => late.release(), ignored);
    throw error instanceof StoreUnavailableError ? error : driverError(error);
  }
  if (!takesFlights(client)) {
    client.release();
    throw new ConfigurationError("transaction: 'ambient' needs a pool of the plain `pg` driver.", {
      existing: "pg-native, or a pool in pg's pipeline mode",
      expected: 'oncekitPool(new Pool({ connectionString }))',
    });
  }
  return checkedOut(client);
}

/** COMMIT was not sent, so whatever becomes of ROLLBACK, nothing was committed. */
async function rollBack({ seat, giveBack }: Checkout, queue: QueryQueue): Promise<void> {
  let broken: unknown;
  try {
    await bounded(async () => {
      await queue.idle();
      await seat.query({ text: 'ROLLBACK' });
    }, SILENCE_MS);
  } catch (error) {
    broken = error;
  }
  giveBack(broken);
}

async function commit<Skipped>(
  { seat, giveBack }: Checkout,
  last: Statement,
  giveUpAt: number,
): Promise<Framed<Skipped>> {
  let landing: Landing;
  try {
    landing = await bounded(() => commitOn(seat, last), giveUpAt - performance.now());
  } catch (error) {
    giveBack(error);
    return { kind: 'in_doubt', error };
  }
  giveBack('error' in landing.commit ? landing.commit.error : undefined);
  return landed(landing);
}

const ignored = () => {};

const overdue = () => new StoreUnavailableError('The transaction took longer than its timeoutMs, and was rolled back.');

const exhausted = (withinMs: number) =>
  new StoreUnavailableError(`No connection was to be had of the pool within ${Math.round(withinMs)} ms.`);

const nested = () =>
  new ConfigurationError('An execution was begun within the handler of another one.', {
    existing: 'execute inside a handler',
    expected: 'execute behind it, as in afterCommit, or outside(() => …)',
  });
