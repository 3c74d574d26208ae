import { IdempotencyError } from '../../core/errors.ts';
import type { Begun, HeldKey, LeasedClaim, Transacted, Work, Write } from '../leases.ts';
import type { ExecuteOptions, KeyRow } from '../rows.ts';
import { addPendingCommit, currentContext, ownTransactionIn, runInContext } from './async-context.ts';
import { countRows, type RawQueries } from './client.ts';
import type { Db } from './db.ts';
import { type ClaimConflict, findConflict, MAX_CLAIMS } from './keys/claim.ts';
import { writeStatement } from './keys/complete.ts';
import { assertHeld, beginStatement, claimedHeld, leaseLost, renewStatement } from './keys/lease.ts';
import { IS_KEY, isCommitted, keyValues, type RawRow, toKeyRow } from './keys/read.ts';
import { explainSchemaError } from './keys/schema.ts';
import { explain, type Last, type TransactionPlan, type TransactionResult } from './transaction-plan.ts';

/** What a transaction of an executor writes, with the statement that does. */
type Made = Last & { write: Write };

/** Claims a key with a lease and runs the first phase in the same transaction: see `Leases.begin`. */
export async function begin<Tx>(db: Db, claim: LeasedClaim, run: Work<Tx>, how: ExecuteOptions): Promise<Begun> {
  const held = claimedHeld(claim);
  const plan: TransactionPlan<Tx, HeldKey, Made, ClaimConflict> = {
    first: () => [beginStatement(claim, how.timeoutMs)],
    check: ([claimed], queries) =>
      claimed ? { claimed: held } : findConflict(queries, claim).then((conflict) => ({ conflict })),
    work: (tx, claimed) => runWork(tx, claimed, claim.leaseMs, run),
  };
  for (let attempt = 1; ; attempt++) {
    const ended = await db.runTransaction(plan, how);
    if (ended.kind === 'committed' || ended.kind === 'rolled_back' || ended.kind === 'in_doubt') {
      if (ended.kind === 'rolled_back' && ended.at === 'claim') {
        if (ended.means === 'locked') return { kind: 'locked' };
        // The claim is a statement of the kit's alone, so the fault is not the user's.
        if (ended.means === 'setup_fault') throw await explainSchemaError(ended.error, undefined, 'keys');
      }
      return await resultOf(db, how, held, ended);
    }
    if (ended.kind !== 'vanished') return ended;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

/** Runs a phase of a key that the executor holds, in one transaction: see `Leases.transact`. */
export async function transact<Tx>(
  db: Db,
  held: HeldKey,
  leaseMs: number,
  run: Work<Tx>,
  how: ExecuteOptions,
): Promise<Transacted> {
  const plan: TransactionPlan<Tx, HeldKey, Made, never> = {
    // Renewed first, so that an executor that was overtaken takes no business lock. See `renew`.
    first: () => [renewStatement(held, leaseMs, how.timeoutMs)],
    check(rows) {
      assertHeld(rows, held);
      return { claimed: held };
    },
    work: (tx, claimed) => runWork(tx, claimed, leaseMs, run),
  };
  return await resultOf(db, how, held, await db.runTransaction(plan, how));
}

async function runWork<Tx>(tx: Tx, held: HeldKey, leaseMs: number, run: Work<Tx>): Promise<Made> {
  const here = currentContext();
  // Where the pool is not the kit's, a query cannot be made to wait for COMMIT.
  const inside = <T>(work: () => T) => runInContext(here, work);
  const write = await run({ tx, held, inside, addPendingCommit: ownTransactionIn(here) && addPendingCommit });
  return { last: writeStatement(held, leaseMs, write), write };
}

async function resultOf(
  db: Db,
  how: ExecuteOptions,
  held: HeldKey,
  ended: TransactionResult<Made, never>,
): Promise<Transacted> {
  if (ended.kind === 'in_doubt') return ended;
  if (ended.kind === 'rolled_back') {
    const { means, error, why } = ended;
    if (means === 'missing_schema') await db.throwMissingSchema(error);
    return { kind: 'rolled_back', error: means === 'overtaken' ? leaseLost(held) : explain(ended), why };
  }
  const { write } = ended.made;
  const row = write.settle && toKeyRow(ended.rows[0] as RawRow);
  const committed = row ? ({ kind: 'committed', row } as const) : ({ kind: 'committed' } as const);
  return ended.isProven ? committed : await confirmPhase(db, how, { held, write }, committed);
}

const HAS_STEP = `
SELECT 1 FROM idempotency_phases WHERE ${IS_KEY} AND name = $5`;

/** Looks whether a COMMIT that Prisma reports as done is one: see `confirmCommit`. */
async function confirmPhase(
  db: Db,
  { maxWaitMs: withinMs }: ExecuteOptions,
  { held: { id }, write: { steps = [], start } }: { held: HeldKey; write: Write },
  committed: { kind: 'committed'; row?: KeyRow },
): Promise<Transacted> {
  const name = start?.name ?? steps.at(-1)?.name;
  const { row } = committed;
  const isKeyEnough = row !== undefined || name === undefined;
  try {
    const looking = async (queries: RawQueries) =>
      isKeyEnough
        ? await isCommitted(queries, row ?? { ...id, state: 'in_progress', result: null })
        : (await countRows(queries, HAS_STEP, ...keyValues(id), name)) > 0;
    if (await db.run(looking, { withinMs, isRepeatable: true })) return committed;
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the phase had returned, and everything was rolled back. Await every query of a phase.',
    { existing: 'nothing', expected: name === undefined ? 'the claim' : `the step ${name}` },
  );
  return db.whyUnproven ? { kind: 'in_doubt', error } : { kind: 'rolled_back', error, why: 'error' };
}
