import { IdempotencyError } from '../../core/errors.ts';
import type { Held, Transacted, Write } from '../leases.ts';
import type { ExecuteOptions, KeyRow } from '../store.ts';
import { bounded } from './bounded.ts';
import { type PrismaClientLike, primaryOf, type RawQueries } from './client.ts';
import { provesRollback, rollbackReason } from './errors.ts';
import { find } from './find.ts';
import { recordStep } from './finish-step.ts';
import { hold, stillHeld } from './hold.ts';
import { settle } from './settle.ts';
import { stepsOf } from './steps.ts';

/** How much later than its timeouts a transaction is given up whose connection says nothing any more. */
const SILENCE_MS = 2000;

/** What the transaction has written: the name of a step, or the settled row. */
type Written = string | KeyRow;

/** `Leases.transact` in one interactive transaction of the user's client. */
export async function transact<Tx extends RawQueries>(
  client: PrismaClientLike,
  held: Held,
  leaseMs: number,
  run: (tx: Tx) => Promise<Write>,
  how: ExecuteOptions,
): Promise<Transacted> {
  try {
    const begin = () => transactOnce(client, held, leaseMs, run, how);
    return await bounded(begin, how.timeoutMs + how.maxWaitMs + SILENCE_MS);
  } catch (error) {
    return { kind: 'in_doubt', error }; // a connection that says nothing may still commit
  }
}

async function transactOnce<Tx extends RawQueries>(
  client: PrismaClientLike,
  held: Held,
  leaseMs: number,
  run: (tx: Tx) => Promise<Write>,
  how: ExecuteOptions,
): Promise<Transacted> {
  let isCommitting = false;
  let written: Written;
  try {
    written = await client.$transaction(
      async (tx: Tx) => {
        // First, so that an executor that was overtaken takes no business lock. See `hold`.
        stillHeld((await hold(tx, held, leaseMs, how.timeoutMs)) ? [true] : [], held);
        const done = await write(tx, held, leaseMs, await run(tx));
        await how.beforeCommit();
        isCommitting = true;
        return done;
      },
      // READ COMMITTED unless asked otherwise: what a phase waits for, it must see when it has it.
      { timeout: how.timeoutMs, maxWait: how.maxWaitMs, isolationLevel: how.isolationLevel ?? 'ReadCommitted' },
    );
  } catch (error) {
    if (isCommitting && !provesRollback(error)) return { kind: 'in_doubt', error };
    return { kind: 'rolled_back', error, why: rollbackReason(error) };
  }
  return await confirmed(primaryOf(client), held, written, how.maxWaitMs);
}

async function write(tx: RawQueries, held: Held, leaseMs: number, what: Write): Promise<Written> {
  if ('settle' in what) return await settle(tx, held, what.settle);
  await recordStep(tx, held, leaseMs, 'atomic', what.step);
  return what.step.name;
}

/** Looks whether what was said to be committed is: see `verified.ts` for a COMMIT that looks like one and is none. */
async function confirmed(db: RawQueries, { id }: Held, written: Written, withinMs: number): Promise<Transacted> {
  try {
    if (typeof written === 'string') {
      const steps = await bounded(() => stepsOf(db, id), withinMs);
      if (steps.some(({ name }) => name === written)) return { kind: 'committed' };
    } else {
      const row = await bounded(() => find(db, id), withinMs);
      if (row?.state === written.state && row.result === written.result) return { kind: 'committed', row };
    }
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the phase had returned, and everything was rolled back. Await every query of a phase.',
    { existing: 'nothing', expected: typeof written === 'string' ? `the step ${written}` : `state ${written.state}` },
  );
  return { kind: 'rolled_back', error, why: 'error' };
}
