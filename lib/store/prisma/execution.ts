import { IdempotencyError } from '../../core/errors.ts';
import type { KeyId } from '../../core/scope.ts';
import type { Claim, Completion, KeyRow } from '../rows.ts';
import type { Claimed as ClaimedKey, Executed } from '../store.ts';
import { type PrismaClientLike, type RawQueries, RERUNS } from './client.ts';
import type { Gate } from './db.ts';
import { isBadNumber, isLockTimeout, isSetUpFault, isUniqueViolation } from './errors.ts';
import { type Claimed, claimedBy, claimStatements, MAX_CLAIMS, type Rival, rivalOf } from './keys/claim.ts';
import { completedRow, completionStatement, explained, explainedAbort, FIRST_TOKEN } from './keys/complete.ts';
import { find, IS_KEY, KEY_COLUMNS, type RawRow, toKeyRow } from './keys/read.ts';
import { explainedBySchema } from './keys/schema.ts';
import { explainedReadOnly } from './outage.ts';
import { runTransaction } from './run-transaction.ts';
import { LEVEL } from './statement.ts';
import { type Plan, rollbackReasonOf, type TransactionEnd, type TransactionOptions } from './transaction.ts';

const LOWEST = 'ReadCommitted';

/** `Store.execute` in one transaction. */
export async function execute<Tx>(
  client: PrismaClientLike,
  claim: Claim,
  run: (tx: Tx, claimed: ClaimedKey) => Promise<Completion>,
  how: TransactionOptions,
): Promise<Executed> {
  const { isolationLevel } = how;
  for (let attempt = 1; ; attempt++) {
    let claimed: Claimed | undefined;
    let completion: Completion | undefined;
    const plan: Plan<Tx, Rival> = {
      // Under a stricter level all statements see what the first one saw: a row that came since would be missed.
      first: (isOwn) => claimStatements(claim, how.timeoutMs, isOwn && (isolationLevel ?? LOWEST) === LOWEST),
      async work(tx, rows, db) {
        claimed = claimedBy(claim, rows);
        if (!claimed) return { skip: await rivalOf(db, claim) };
        completion = await run(tx, { fencingToken: FIRST_TOKEN, expiresAt: new Date(claimed.expiresAtMs) });
        return { last: completionStatement(claim, claimed, completion) };
      },
    };
    const ended = await runTransaction(client, plan, how);
    switch (ended.kind) {
      case 'skipped':
        if (ended.value !== 'vanished') return ended.value;
        if (attempt === MAX_CLAIMS) return { kind: 'locked' };
        continue;
      case 'in_doubt':
        return ended;
      case 'rolled_back':
        return await rolledBack(how.gate, claim, ended, claimed);
      case 'committed': {
        if (ended.last.length === 0) return { kind: 'in_doubt', error: nothingWritten() };
        const row = completedRow(claim, claimed as Claimed, completion as Completion, ended.last);
        return ended.isProven ? { kind: 'committed', row } : await verified(how.gate, row, how.maxWaitMs);
      }
    }
  }
}

async function rolledBack(
  gate: Gate,
  claim: Claim,
  ended: Extract<TransactionEnd<never>, { kind: 'rolled_back' }>,
  claimed: Claimed | undefined,
): Promise<Executed> {
  const { at, error } = ended;
  if (at === 'first' && isLockTimeout(error)) return { kind: 'locked' };
  if (at !== 'work') await gate.throwSchemaGap(error);
  const why = rollbackReasonOf(ended);
  if (claimed && at === 'last' && !claimed.isWritten && isUniqueViolation(error)) {
    // A row has come without a ticket, so there was nothing to claim.
    const row = await gate.ask((db) => find(db, claim), { isRepeatable: true });
    return row ? { kind: 'existing', row } : { kind: 'rolled_back', why: 'conflict', error, at: 'claim' };
  }
  // The handler has ended the transaction by SQL that was not recognised: what it had written before may be committed.
  if (claimed && at === 'last' && !claimed.isWritten && isBadNumber(error)) {
    return { kind: 'in_doubt', error: explained(error, claimed) };
  }
  const said = explainedReadOnly(error);
  if (claimed && at === 'work') return { kind: 'rolled_back', why, error: said, at: 'run' };
  if (claimed) return { kind: 'rolled_back', why, error: explained(said, claimed), at: 'commit' };
  // The claim is a statement of ours alone, so it is not the handler's doing.
  if (isSetUpFault(error)) throw await explainedBySchema(error, undefined, 'keys');
  return { kind: 'rolled_back', why, error: said, at: 'claim' };
}

const nothingWritten = () =>
  new IdempotencyError('The transaction was committed without its key: a trigger or a rule has swallowed the row.', {
    existing: 'no row',
    expected: 'tables of the kit without triggers or rules of others',
  });

// The lock prevents this: two calls find the same unreadable result, and both run. The setting ends with the transaction:
// it tells `enqueue` that what this intent has announced before was announced by an earlier execution, not by mistake.
const LOCK = `
SELECT ${KEY_COLUMNS}, set_config('${RERUNS}', 'on', true), ${LEVEL} FROM idempotency_keys
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded'
   FOR UPDATE`;

// The version it leaves is named, under the lock: what another call has brought up to date meanwhile stays as it is.
const REPLACE = `
UPDATE idempotency_keys SET result = $5, schema_version = $6::int
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded' AND schema_version < $6::int
RETURNING ${KEY_COLUMNS}`;

const AT = { first: 'claim', work: 'run', last: 'commit', commit: 'commit' } as const;

/** `Store.rerun` in one transaction of the user's client. */
export async function rerun<Tx>(
  client: PrismaClientLike,
  id: KeyId & { schemaVersion: number },
  run: (tx: Tx) => Promise<Completion>,
  how: TransactionOptions,
): Promise<Executed> {
  const key = [id.tenant, id.principal, id.operation, id.key];
  let found: KeyRow | undefined;
  const plan: Plan<Tx, Executed> = {
    first: () => [{ text: LOCK, values: key, mayWait: true }],
    async work(tx, [stored]) {
      if (!stored) return { skip: { kind: 'locked' } };
      const row = toKeyRow(stored as RawRow);
      found = row;
      // An answer that a person has erased is not made again, not even by work that does no harm twice.
      if (row.result === null || row.schemaVersion >= id.schemaVersion) return { skip: { kind: 'existing', row } };
      const { result } = await run(tx);
      return { last: { text: REPLACE, values: [...key, result, id.schemaVersion] } };
    },
  };
  const ended = await runTransaction(client, plan, { ...how, isolationLevel: 'ReadCommitted' });
  switch (ended.kind) {
    case 'skipped':
      return ended.value;
    case 'in_doubt':
      return ended;
    case 'rolled_back':
      return {
        kind: 'rolled_back',
        error: explainedAbort(ended.error),
        why: rollbackReasonOf(ended),
        at: AT[ended.at],
      };
    case 'committed': {
      const [replaced] = ended.last;
      const row = replaced ? toKeyRow(replaced as RawRow) : (found as KeyRow);
      return ended.isProven ? { kind: 'committed', row } : await verified(how.gate, row, how.maxWaitMs);
    }
  }
}

// A yes or no, and not the row: nearly always it is what was told, and Prisma's share of reading its columns is large.
const STANDS = `
SELECT 1 FROM idempotency_keys WHERE ${IS_KEY} AND state = $5 AND result IS NOT DISTINCT FROM $6`;

type Told = Pick<KeyRow, 'tenant' | 'principal' | 'operation' | 'key' | 'state' | 'result'>;

/** Whether the committed row of a key is in this state, with this result. */
export async function stands(db: RawQueries, { tenant, principal, operation, key, state, result }: Told) {
  const rows = await db.$queryRawUnsafe<unknown[]>(STANDS, tenant, principal, operation, key, state, result);
  return rows.length > 0;
}

/**
 * Looks whether what was said to be committed is. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK,
 * which Prisma does not look at. It happens when a handler leaves a query unawaited: one of its statements can fail
 * between the completion and COMMIT. Without this look a customer would be told of an order that does not exist.
 */
export async function verified(gate: Gate, told: KeyRow, withinMs: number): Promise<Executed> {
  let row: KeyRow | undefined;
  const ask = { withinMs, isRepeatable: true };
  try {
    if (await gate.ask((db) => stands(db, told), ask)) return { kind: 'committed', row: told };
    row = await gate.ask((db) => find(db, told), ask);
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
    { existing: 'another row, or none', expected: 'the row that was committed' },
  );
  // Rolled back, and claimed by another since: that one's answer stands. An older version's is no answer of ours.
  if (row && row.schemaVersion >= told.schemaVersion) return { kind: 'existing', row };
  // With a row there, that our claim was rolled back proves nothing any more.
  return { kind: 'rolled_back', error, why: 'error', at: row ? 'claim' : 'commit' };
}
