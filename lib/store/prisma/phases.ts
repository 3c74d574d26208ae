import { IdempotencyError } from '../../core/errors.ts';
import type { Begun, Held, LeasedClaim, Transacted, Work, Write } from '../leases.ts';
import type { ExecuteOptions, KeyRow } from '../rows.ts';
import { currentContext, runInContext } from './async-context.ts';
import { explain } from './classify.ts';
import type { RawQueries } from './client.ts';
import type { Db } from './db.ts';
import { type ClaimConflict, findConflict, MAX_CLAIMS } from './keys/claim.ts';
import { writeStatement } from './keys/complete.ts';
import { assertHeld, beginStatement, claimedHeld, leaseLost, renewStatement } from './keys/lease.ts';
import { hasStep, isCommitted, type RawRow, toKeyRow } from './keys/read.ts';
import { explainSchemaError } from './keys/schema.ts';
import type { Statement } from './statement.ts';
import type { Plan, TransactionOutcome } from './transaction.ts';
import { addPendingCommit } from './wire/pending-commits.ts';

/** A transaction of an executor that holds a key: who has it, and what it is going to write. */
interface Phase {
  held: Held;
  leaseMs: number;
  /** The transaction is the kit's own, and so is the pool. */
  isOwn?: boolean;
  write?: Write;
}

/** Claims a key with a lease and runs the first phase in the same transaction: see `Leases.begin`. */
export async function begin<Tx>(db: Db, claim: LeasedClaim, run: Work<Tx>, how: ExecuteOptions): Promise<Begun> {
  for (let attempt = 1; ; attempt++) {
    const begun = await beginOnce(db, claim, run, how);
    if (begun !== 'vanished') return begun;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function beginOnce<Tx>(
  db: Db,
  claim: LeasedClaim,
  run: Work<Tx>,
  how: ExecuteOptions,
): Promise<Begun | 'vanished'> {
  const phase: Phase = { held: claimedHeld(claim), leaseMs: claim.leaseMs };
  const plan: Plan<Tx, ClaimConflict> = {
    first(isOwn) {
      phase.isOwn = isOwn;
      return [beginStatement(claim, how.timeoutMs)];
    },
    work: async (tx, [claimed], queries) =>
      claimed ? await runPhase(phase, tx, run) : { skip: await findConflict(queries, claim) },
  };
  const outcome = await db.runTransaction(plan, how);
  if (outcome.kind === 'skipped') return outcome.value;
  if (outcome.kind === 'rolled_back' && outcome.at === 'claim') {
    if (outcome.means === 'locked') return { kind: 'locked' };
    // The claim is a statement of the kit's alone, so the fault is not the user's.
    if (outcome.means === 'setup_fault') throw await explainSchemaError(outcome.error, undefined, 'keys');
  }
  return await resultOf(db, how, phase, outcome);
}

/** Runs a phase of a key that the executor holds, in one transaction: see `Leases.transact`. */
export async function transact<Tx>(
  db: Db,
  held: Held,
  leaseMs: number,
  run: Work<Tx>,
  how: ExecuteOptions,
): Promise<Transacted> {
  const phase: Phase = { held, leaseMs };
  const plan: Plan<Tx, never> = {
    // Renewed first, so that an executor that was overtaken takes no business lock. See `renew`.
    first(isOwn) {
      phase.isOwn = isOwn;
      return [renewStatement(held, leaseMs, how.timeoutMs)];
    },
    async work(tx, rows) {
      assertHeld(rows, held);
      return await runPhase(phase, tx, run);
    },
  };
  const outcome = await db.runTransaction(plan, how);
  return outcome.kind === 'skipped' ? outcome.value : await resultOf(db, how, phase, outcome);
}

async function runPhase<Tx>(phase: Phase, tx: Tx, run: Work<Tx>): Promise<{ last: Statement }> {
  const { held, leaseMs, isOwn } = phase;
  const here = currentContext();
  // Where the pool is not the kit's, a query cannot be made to wait for COMMIT.
  const inside = <T>(work: () => T) => runInContext(here, work);
  phase.write = await run({ tx, held, inside, withhold: isOwn ? addPendingCommit : undefined });
  return { last: writeStatement(held, leaseMs, phase.write) };
}

async function resultOf(
  db: Db,
  how: ExecuteOptions,
  { held, write = {} }: Phase,
  outcome: Exclude<TransactionOutcome<never>, { kind: 'skipped' }>,
): Promise<Transacted> {
  switch (outcome.kind) {
    case 'in_doubt':
      return outcome;
    case 'rolled_back': {
      const { means, error, why } = outcome;
      if (means === 'missing_schema') await db.throwMissingSchema(error);
      return { kind: 'rolled_back', error: means === 'overtaken' ? leaseLost(held) : explain(outcome), why };
    }
    case 'committed': {
      const row = write.settle && toKeyRow(outcome.last[0] as RawRow);
      const committed = row ? ({ kind: 'committed', row } as const) : ({ kind: 'committed' } as const);
      return outcome.isProven ? committed : await confirmPhase(db, how, { held, write }, committed);
    }
  }
}

/** Looks whether a COMMIT that Prisma reports as done is one: see `confirmCommit`. */
async function confirmPhase(
  db: Db,
  { maxWaitMs: withinMs }: ExecuteOptions,
  { held: { id }, write: { steps = [], start } }: { held: Held; write: Write },
  committed: { kind: 'committed'; row?: KeyRow },
): Promise<Transacted> {
  const name = start?.name ?? steps.at(-1)?.name;
  const { row } = committed;
  const isKeyEnough = row !== undefined || name === undefined;
  try {
    const looking = (queries: RawQueries) =>
      isKeyEnough
        ? isCommitted(queries, row ?? { ...id, state: 'in_progress', result: null })
        : hasStep(queries, id, name);
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
