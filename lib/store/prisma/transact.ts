import { IdempotencyError } from '../../core/errors.ts';
import type { Held, Transacted, Work, Write } from '../leases.ts';
import type { KeyRow } from '../rows.ts';
import { runWithin, within } from './async-context.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { isNothingChanged } from './errors.ts';
import { explainedAbort, writeStatement } from './keys/complete.ts';
import { holdStatement, leaseLost, stillHeld } from './keys/lease.ts';
import { hasStep, type RawRow, toKeyRow } from './keys/read.ts';
import { explainedReadOnly } from './outage.ts';
import { runTransaction } from './run-transaction.ts';
import type { Statement } from './statement.ts';
import { type Plan, rollbackReasonOf, type TransactionEnd, type TransactionOptions } from './transaction.ts';
import { stands } from './verified.ts';
import { withhold } from './wire/pending-commits.ts';

/** What a transaction of the executor is about to write. */
export interface Done {
  /** The transaction is the kit's own, and so is the pool. */
  isOwn?: boolean;
  write?: Write;
}

/** `Leases.transact` in one transaction. */
export async function transact<Tx>(
  client: PrismaClientLike,
  held: Held,
  leaseMs: number,
  run: Work<Tx>,
  how: TransactionOptions,
): Promise<Transacted> {
  const done: Done = {};
  const plan: Plan<Tx, never> = {
    // Held first, so that an executor that was overtaken takes no business lock. See `hold`.
    first(isOwn) {
      done.isOwn = isOwn;
      return [holdStatement(held, leaseMs, how.timeoutMs)];
    },
    async work(tx, rows) {
      stillHeld(rows, held);
      return await perform({ held, leaseMs, done }, tx, run);
    },
  };
  const ended = await runTransaction(client, plan, how);
  return ended.kind === 'skipped' ? ended.value : await concluded(how, { held, done }, ended);
}

/** Runs what is to be done in the transaction of a key that is held, and says how it ends. */
export async function perform<Tx>(
  { held, leaseMs, done }: { held: Held; leaseMs: number; done: Done },
  tx: Tx,
  run: Work<Tx>,
): Promise<{ last: Statement }> {
  const here = within();
  // Where the pool is not ours, a query cannot be made to wait for COMMIT.
  const inside = <T>(work: () => T) => runWithin(here, work);
  done.write = await run({ tx, held, inside, withhold: done.isOwn ? withhold : undefined });
  return { last: writeStatement(held, leaseMs, done.write) };
}

/** What such a transaction came to. */
export async function concluded(
  how: TransactionOptions,
  { held, done: { write = {} } }: { held: Held; done: Done },
  ended: Exclude<TransactionEnd<never>, { kind: 'skipped' }>,
): Promise<Transacted> {
  switch (ended.kind) {
    case 'in_doubt':
      return ended;
    case 'rolled_back': {
      if (ended.at !== 'work') await how.gate.throwSchemaGap(ended.error);
      const isOvertaken = ended.at === 'last' && isNothingChanged(ended.error);
      return {
        kind: 'rolled_back',
        error: isOvertaken ? leaseLost(held) : explainedAbort(explainedReadOnly(ended.error)),
        why: rollbackReasonOf(ended),
      };
    }
    case 'committed': {
      const row = write.settle && toKeyRow(ended.last[0] as RawRow);
      const committed = row ? ({ kind: 'committed', row } as const) : ({ kind: 'committed' } as const);
      return ended.isProven ? committed : await confirmed(how, held, write, committed);
    }
  }
}

/** Looks whether what was said to be committed is: see `verified.ts` for a COMMIT that looks like one and is none. */
async function confirmed(
  { gate, maxWaitMs: withinMs }: TransactionOptions,
  { id }: Held,
  { steps = [], start }: Write,
  committed: { kind: 'committed'; row?: KeyRow },
): Promise<Transacted> {
  const name = start?.name ?? steps.at(-1)?.name;
  const { row } = committed;
  const isKeyEnough = row !== undefined || name === undefined;
  try {
    const looking = (db: RawQueries) =>
      isKeyEnough ? stands(db, row ?? { ...id, state: 'in_progress', result: null }) : hasStep(db, id, name);
    if (await gate.ask(looking, { withinMs, isRepeatable: true })) return committed;
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the phase had returned, and everything was rolled back. Await every query of a phase.',
    { existing: 'nothing', expected: name === undefined ? 'the claim' : `the step ${name}` },
  );
  return { kind: 'rolled_back', error, why: 'error' };
}
