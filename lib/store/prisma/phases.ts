import { IdempotencyError } from '../../core/errors.ts';
import type { Begun, Held, LeasedClaim, Transacted, Work, Write } from '../leases.ts';
import type { KeyRow } from '../rows.ts';
import { runWithin, within } from './async-context.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { isLockTimeout, isNothingChanged, isSetUpFault } from './errors.ts';
import { stands } from './execution.ts';
import { claimValues, drawTicket, inWindow, lockTimeout, MAX_CLAIMS, type Rival, rivalOf } from './keys/claim.ts';
import { explainedAbort, writeStatement } from './keys/complete.ts';
import { holdStatement, leaseLost, stillHeld } from './keys/lease.ts';
import { hasStep, type RawRow, toKeyRow } from './keys/read.ts';
import { explainedBySchema } from './keys/schema.ts';
import { explainedReadOnly } from './outage.ts';
import { runTransaction } from './run-transaction.ts';
import { LEVEL, type Statement } from './statement.ts';
import { type Plan, rollbackReasonOf, type TransactionEnd, type TransactionOptions } from './transaction.ts';
import { withhold } from './wire/pending-commits.ts';

// The same insert, ticket and window as a claim in one transaction (`claim.ts`), with a lease besides, which says for how
// long the claim is believed once it is committed: what follows lies partly outside the database. The completer looks at
// it when the lease is over. `lock_timeout` is put back by the statement itself, for phases with locks of their own follow.
const BEGIN = `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $13, true) FROM before),
     ticket AS MATERIALIZED (SELECT ${drawTicket('$12', '$14')} AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, lease_until, next_attempt_at, input,
                              trace_parent, fencing_token)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms',
       clock_timestamp() + $15::float8 * interval '1 ms', clock_timestamp() + $15::float8 * interval '1 ms', $16::bytea,
       $17, $19::int
  FROM ticket
 WHERE drawn
   AND ${inWindow('$9', '$10')}
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING set_config('idle_in_transaction_session_timeout', $18, true) AS idle, ${LEVEL},
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`;

/** `Leases.begin` in one transaction of the user's client. */
export async function begin<Tx>(
  client: PrismaClientLike,
  claim: LeasedClaim,
  run: Work<Tx>,
  how: TransactionOptions,
): Promise<Begun> {
  for (let attempt = 1; ; attempt++) {
    const begun = await beginOnce(client, claim, run, how);
    if (begun !== 'vanished') return begun;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function beginOnce<Tx>(
  client: PrismaClientLike,
  claim: LeasedClaim,
  run: Work<Tx>,
  how: TransactionOptions,
): Promise<Begun | 'vanished'> {
  const { leaseMs } = claim;
  const held = heldBy(claim);
  const done: Done = {};
  const plan: Plan<Tx, Rival> = {
    first(isOwn) {
      done.isOwn = isOwn;
      return [beginStatement(claim, how.timeoutMs)];
    },
    work: async (tx, [claimed], db) =>
      claimed ? await perform({ held, leaseMs, done }, tx, run) : { skip: await rivalOf(db, claim) },
  };
  const ended = await runTransaction(client, plan, how);
  if (ended.kind === 'skipped') return ended.value;
  if (ended.kind === 'rolled_back' && ended.at === 'first') {
    const { error } = ended;
    if (isLockTimeout(error)) return { kind: 'locked' };
    // The claim is a statement of ours alone, so it is not the user's doing.
    if (isSetUpFault(error)) throw await explainedBySchema(error, undefined, 'keys');
  }
  return await concluded(how, { held, done }, ended);
}

function beginStatement(claim: LeasedClaim, holdMs: number): Statement {
  const values = [
    ...claimValues(claim),
    lockTimeout(claim.waitMs),
    claim.waitMs > 0,
    claim.leaseMs,
    claim.input,
    claim.traceParent ?? null,
    `${Math.ceil(holdMs) + 1000}ms`,
    claim.firstToken,
  ];
  return { text: BEGIN, values, mayWait: claim.waitMs > 0 };
}

/** A key as the executor holds it that has just claimed it. */
function heldBy(claim: LeasedClaim): Held {
  const { tenant, principal, operation, key, firstToken, schemaVersion, input, traceParent = null } = claim;
  return {
    id: { tenant, principal, operation, key },
    state: 'in_progress',
    fencingToken: firstToken,
    attempts: 1,
    needsAttention: false,
    schemaVersion,
    input,
    traceParent,
    steps: [],
  };
}

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
