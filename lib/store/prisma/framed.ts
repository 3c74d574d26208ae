import type { RollbackReason } from '../store.ts';
import { framedAmbient } from './ambient.ts';
import { bounded } from './bounded.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, send } from './client.ts';
import { isForgotten, rollbackReason } from './errors.ts';
import { type Framed, type FrameOptions, named, rowsOf, SILENCE_MS, type Work } from './frame.ts';
import { failed, landed } from './landed.ts';
import { distrust } from './pool.ts';
import { readThrough } from './read.ts';
import { LEVELS, type Ride, type Rows, type Statement } from './ride.ts';
import { runWithin } from './within.ts';

/**
 * One transaction of the user's client that begins with a statement of ours, and ends with another: both of no effect
 * unless everything between them is committed too. How they travel is the pool's business (`pool.ts`); where the pool
 * is not ours they are statements inside the transaction, each a round trip of its own.
 */
export async function framed<Tx extends RawQueries, Skipped>(
  client: PrismaClientLike,
  first: Statement,
  work: (tx: Tx, rows: Rows) => Promise<Work<Skipped>>,
  how: FrameOptions,
): Promise<Framed<Skipped>> {
  const { ambient } = how;
  if (ambient) return await framedAmbient(client, first, work, { ...how, ambient });
  // Prisma's timeout waits behind a statement that hangs, so a connection that has gone silent would hold its caller
  // and all who follow it, for ever. Nothing is known of it: it may still commit.
  try {
    return await bounded(() => frame(client, first, work, how), how.timeoutMs + how.maxWaitMs + SILENCE_MS);
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
}

async function frame<Tx extends RawQueries, Skipped>(
  client: PrismaClientLike,
  first: Statement,
  work: (tx: Tx, rows: Rows) => Promise<Work<Skipped>>,
  how: FrameOptions,
): Promise<Framed<Skipped>> {
  const { rename } = how;
  // READ COMMITTED: what a statement has waited for, the next one must see. Under a stricter level a claim's wait ends
  // in a serialization failure, and is tried again.
  const ride: Ride = { isolationLevel: how.isolationLevel ?? 'ReadCommitted', first: named(first, rename) };
  // Where it stands decides what an error means: before COMMIT nothing can be committed, after it everything can.
  let at: 'first' | 'work' | 'last' | 'commit' = 'first';
  let isCarried = false;
  let skipped: { skip: Skipped } | undefined;
  let last: Rows = [];
  let failure: { error: unknown } | undefined;
  const transact = async (tx: Tx) => {
    at = 'first';
    const begun = ride.begun;
    // Taken once: an extension of the client that tries a transaction again gets statements of its own.
    ride.begun = undefined;
    ride.completed = undefined;
    ride.ended = undefined;
    isCarried = begun !== undefined;
    // Whatever pool the work connects to from here on, even another database's: it is not this transaction's.
    if (!isCarried) ride.isOver = true;
    const rows = begun ? rowsOf(await begun) : await begin(tx, ride);
    at = 'work';
    const next = await work(tx, rows);
    if ('skip' in next) {
      ride.isOver = true;
      skipped = next;
      return;
    }
    await how.beforeCommit();
    at = 'last';
    if (isCarried) ride.last = named(next.last, rename);
    else last = await send(tx, next.last);
    at = 'commit';
  };
  try {
    await runWithin({ ride }, () => client.$transaction(transact, { timeout: how.timeoutMs, maxWait: how.maxWaitMs }));
  } catch (error) {
    failure = { error };
  }
  ride.isOver = true; // a connection that comes too late claims nothing
  if (isCarried && ride.pool) readThrough(client, ride.pool, rename);
  if (ride.ended) return landed(await ride.ended, failure);
  if (failure) return failed(failure.error, at);
  if (skipped) return { kind: 'skipped', value: skipped.skip };
  if ((at as string) !== 'commit')
    return { kind: 'in_doubt', error: new Error('The client has swallowed an error, and committed.') };
  return isCarried ? await mended(client, ride) : { kind: 'committed', last, isProven: false };
}

async function begin(tx: RawQueries, { isolationLevel, first }: Ride): Promise<Rows> {
  await tx.$queryRawUnsafe(`SET TRANSACTION ISOLATION LEVEL ${LEVELS[isolationLevel]}`);
  return await send(tx, first);
}

/** Why it was rolled back. A statement that the server has forgotten is tried again as one that conflicts is. */
export function whyOf({ error, at }: { error: unknown; at: 'first' | 'work' | 'last' }): RollbackReason {
  return at !== 'work' && isForgotten(error) ? 'conflict' : rollbackReason(error);
}

/**
 * It was committed, and how the server put it was not seen. Where COMMIT itself went past the pool, what was to go before
 * it is sent now, and from now on this pool's transactions carry their own statements.
 */
async function mended<Skipped>(client: PrismaClientLike, { pool, last, completed }: Ride): Promise<Framed<Skipped>> {
  try {
    if (completed) return { kind: 'committed', last: rowsOf(await completed), isProven: false };
    if (pool) distrust(pool);
    return { kind: 'committed', last: last ? await send(primaryOf(client), last) : [], isProven: false };
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
}
