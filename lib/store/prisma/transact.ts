import { IdempotencyError } from '../../core/errors.ts';
import type { Held, Transacted, Write } from '../leases.ts';
import type { KeyRow } from '../store.ts';
import { bounded } from './bounded.ts';
import { type PrismaClientLike, primaryOf, type RawQueries } from './client.ts';
import { explainedAbort } from './complete.ts';
import { isNothingChanged } from './errors.ts';
import { find } from './find.ts';
import { stepStatement } from './finish-step.ts';
import { holdStatement, leaseLost, stillHeld } from './hold.ts';
import { type RawRow, toKeyRow } from './row.ts';
import { runTransaction } from './run-transaction.ts';
import { throwSchemaGap } from './schema-version.ts';
import { settleStatement } from './settle.ts';
import { stepsOf } from './steps.ts';
import { type Plan, rollbackReasonOf, type TransactionOptions } from './transaction.ts';

/** What the transaction has written: the name of a step, or the settled row. */
type Written = string | KeyRow;

/** `Leases.transact` in one transaction of the user's client. */
export async function transact<Tx>(
  client: PrismaClientLike,
  held: Held,
  leaseMs: number,
  run: (tx: Tx) => Promise<Write>,
  how: TransactionOptions,
): Promise<Transacted> {
  let done: Write | undefined;
  const plan: Plan<Tx, never> = {
    // Held first, so that an executor that was overtaken takes no business lock. See `hold`.
    first: () => [holdStatement(held, leaseMs, how.timeoutMs)],
    async work(tx, rows) {
      stillHeld(rows, held);
      done = await run(tx);
      return {
        last: 'settle' in done ? settleStatement(held, done.settle) : stepStatement(held, leaseMs, 'atomic', done.step),
      };
    },
  };
  const ended = await runTransaction(client, plan, how);
  switch (ended.kind) {
    case 'skipped':
      return ended.value;
    case 'in_doubt':
      return ended;
    case 'rolled_back': {
      if (ended.at !== 'work') await throwSchemaGap(ended.error, primaryOf(client), 'keys');
      const isOvertaken = ended.at === 'last' && isNothingChanged(ended.error);
      return {
        kind: 'rolled_back',
        error: isOvertaken ? leaseLost(held) : explainedAbort(ended.error),
        why: rollbackReasonOf(ended),
      };
    }
    case 'committed': {
      const row = 'settle' in (done as Write) ? toKeyRow(ended.last[0] as RawRow) : undefined;
      if (ended.isProven) return row ? { kind: 'committed', row } : { kind: 'committed' };
      const written = row ?? (done as Extract<Write, { step: unknown }>).step.name;
      return await confirmed(primaryOf(client), held, written, how.maxWaitMs);
    }
  }
}

/** Looks whether what was said to be committed is: see `verified.ts` for a COMMIT that looks like one and is none. */
async function confirmed(db: RawQueries, { id }: Held, written: Written, withinMs: number): Promise<Transacted> {
  try {
    if (typeof written === 'string') {
      const steps = await bounded(stepsOf(db, id), withinMs);
      if (steps.some(({ name }) => name === written)) return { kind: 'committed' };
    } else {
      const row = await bounded(find(db, id), withinMs);
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
