import { IdempotencyError, LeaseLostError } from '../../core/errors.ts';
import type { KeyId } from '../../core/scope.ts';
import type { Claim, Completion, ExecuteOptions, KeyRow } from '../rows.ts';
import { type ExecutionResult, type Probed, StoreUnavailableError } from '../store.ts';
import { RERUNS } from './client.ts';
import type { Db } from './db.ts';
import {
  type ClaimConflict,
  type Claimed,
  claimStatements,
  findConflict,
  MAX_CLAIMS,
  readClaim,
} from './keys/claim.ts';
import { completedRow, completionStatement, FIRST_TOKEN } from './keys/complete.ts';
import { find, findObstacle, isCommitted, KEY_COLUMNS, keyValues, type RawRow, toKeyRow } from './keys/read.ts';
import { explainSchemaError } from './keys/schema.ts';
import { LEVEL } from './statement.ts';
import { explain, type Last, SILENCE_MS, type TransactionPlan, type TransactionResult } from './transaction-plan.ts';

const LOWEST = 'ReadCommitted';

/** What an execution has made, with the statement that writes it. */
type Made = Last & { claimed: Claimed; completion: Completion };

/** Claims the key, runs the user's code and completes the key in one transaction: see `Store.execute`. */
export async function execute<Tx>(
  db: Db,
  claim: Claim,
  run: (tx: Tx) => Promise<Completion>,
  how: ExecuteOptions,
): Promise<ExecutionResult> {
  const { isolationLevel = LOWEST } = how;
  const plan: TransactionPlan<Tx, Claimed, Made, ClaimConflict> = {
    // Under a stricter level all statements see what the first one saw: a row that came since would be missed.
    first: (isOwn) => claimStatements(claim, how.timeoutMs, isOwn && isolationLevel === LOWEST),
    check(rows, queries) {
      const claimed = readClaim(claim, rows);
      return claimed ? { claimed } : findConflict(queries, claim, rows).then((conflict) => ({ conflict }));
    },
    async work(tx, claimed) {
      const completion = await run(tx);
      return { last: completionStatement(claim, claimed, completion), claimed, completion };
    },
  };
  for (let attempt = 1; ; attempt++) {
    const ended = await db.runTransaction(plan, how);
    if (ended.kind === 'rolled_back') return await afterRollback(db, claim, ended);
    if (ended.kind === 'committed') {
      const { made, rows, isProven } = ended;
      if (rows.length === 0) return { kind: 'in_doubt', error: nothingWritten() };
      const row = completedRow(claim, made.claimed, made.completion, rows);
      return isProven ? { kind: 'committed', row } : await confirmCommit(db, row, how.maxWaitMs);
    }
    if (ended.kind !== 'vanished') return ended;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function afterRollback(
  db: Db,
  claim: Claim,
  { at, error, means, why, made }: Extract<TransactionResult<Made, never>, { kind: 'rolled_back' }>,
): Promise<ExecutionResult> {
  if (means === 'locked') return { kind: 'locked' };
  if (means === 'missing_schema') await db.throwMissingSchema(error);
  // The claim is a statement of the kit's alone, so the fault is not the handler's.
  if (at === 'claim' && means === 'setup_fault') throw await explainSchemaError(error, undefined, 'keys');
  if (made && !made.claimed.isWritten) {
    if (means === 'duplicate') {
      // A row has come without a ticket, of the key or of its thing, so there was nothing to claim.
      const obstacle = await db.run((queries) => findObstacle(queries, claim), { isRepeatable: true });
      return obstacle ?? { kind: 'rolled_back', why: 'conflict', error, at: 'claim' };
    }
    // The handler has ended the transaction by SQL that was not recognised: its writes before that may be committed.
    if (means === 'invalid_number') return { kind: 'in_doubt', error: endedTransaction(error) };
  }
  if (means === 'overtaken') return { kind: 'rolled_back', why, error: keyLost(), at };
  // An error of the handler's own reaches its caller as it was thrown, but for one that only says that there was another.
  const isHandlers = at === 'run' && means !== 'read_only' && means !== 'aborted';
  return { kind: 'rolled_back', why, error: isHandlers ? error : explain({ error, means }), at };
}

/**
 * Looks whether a COMMIT that Prisma reports as done is one. PostgreSQL answers COMMIT of an aborted transaction with
 * ROLLBACK, and Prisma does not look at that. It happens when a handler leaves a query unawaited: one of its statements can
 * fail between the completion and COMMIT. Without this look a customer would hear of an order that does not exist.
 */
export async function confirmCommit(db: Db, expected: KeyRow, withinMs: number): Promise<ExecutionResult> {
  let row: KeyRow | undefined;
  const options = { withinMs, isRepeatable: true };
  try {
    if (await db.run((queries) => isCommitted(queries, expected), options)) return { kind: 'committed', row: expected };
    row = await db.run((queries) => find(queries, expected), options);
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
    { existing: 'another row, or none', expected: 'the row that was committed' },
  );
  // Rolled back, and claimed by another since: that one's answer stands. An older version's is no answer of this one.
  if (row && row.schemaVersion >= expected.schemaVersion) return { kind: 'existing', row };
  if (db.whyUnproven) return { kind: 'in_doubt', error };
  // With a row there, the rollback of this claim proves nothing any more.
  return { kind: 'rolled_back', error, why: 'error', at: row ? 'claim' : 'commit' };
}

// The lock prevents this: two calls find the same unreadable result, and both run. The setting ends with the transaction:
// it tells `enqueue` that an event of this intent which is there already is of an earlier execution, and no mistake.
const LOCK = `
SELECT ${KEY_COLUMNS}, set_config('${RERUNS}', 'on', true) AS reruns, ${LEVEL} FROM idempotency_keys
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded'
   FOR UPDATE`;

// The version it leaves is named, under the lock: a row that another call has brought up to date meanwhile stays as it is.
const REPLACE = `
UPDATE idempotency_keys SET result = $5, schema_version = $6::int
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded' AND schema_version < $6::int
RETURNING ${KEY_COLUMNS}`;

/** Runs an operation again whose stored answer is of an older schema version: see `Store.rerun`. */
export async function rerun<Tx>(
  db: Db,
  id: KeyId & { schemaVersion: number },
  run: (tx: Tx) => Promise<Completion>,
  how: ExecuteOptions,
): Promise<ExecutionResult> {
  const key = keyValues(id);
  const plan: TransactionPlan<Tx, KeyRow, Last & { found: KeyRow }, Exclude<Probed, { kind: 'absent' }>> = {
    first: () => [{ text: LOCK, values: key, mayWait: true }],
    check([stored]) {
      if (!stored) return { conflict: { kind: 'locked' } };
      const { reruns: _, level: __, ...raw } = stored as RawRow & Record<'reruns' | 'level', string>;
      const row = toKeyRow(raw);
      // An answer that a person has erased is not made again, not even by work that does no harm twice.
      const isUpToDate = row.result === null || row.schemaVersion >= id.schemaVersion;
      return isUpToDate ? { conflict: { kind: 'existing', row } } : { claimed: row };
    },
    async work(tx, found) {
      const { result } = await run(tx);
      return { last: { text: REPLACE, values: [...key, result, id.schemaVersion] }, found };
    },
  };
  const ended = await db.runTransaction(plan, { ...how, isolationLevel: LOWEST });
  if (ended.kind === 'rolled_back') {
    return { kind: 'rolled_back', error: explain(ended), why: ended.why, at: ended.at };
  }
  if (ended.kind !== 'committed') return ended;
  const [replaced] = ended.rows;
  const row = replaced ? toKeyRow(replaced as RawRow) : ended.made.found;
  return ended.isProven ? { kind: 'committed', row } : await confirmCommit(db, row, how.maxWaitMs);
}

const nothingWritten = () =>
  new IdempotencyError('The transaction was committed without its key: a trigger or a rule has swallowed the row.', {
    existing: 'no row',
    expected: 'tables of the kit without triggers or rules of others',
  });

const endedTransaction = (cause: unknown) =>
  new IdempotencyError('The handler has ended its transaction by raw SQL; its answer is not stored.', {
    existing: 'another transaction, or none',
    expected: 'COMMIT and ROLLBACK left to the kit: throw to roll back',
    cause,
  });

const keyLost = () =>
  new LeaseLostError('The key is no longer held by this execution; its writes are rolled back.', {
    existing: 'another state or fencing token',
    expected: `in_progress with fencing token ${FIRST_TOKEN}`,
  });

// It writes to the log and to no table, so it commits behind everything that its transaction could see.
const MARK = `SELECT pg_logical_emit_message(true, 'oncekit', '')::text AS at`;

/**
 * Waits until the synchronous standbys have all that was committed before: all that the caller has read.
 *
 * @throws StoreUnavailableError where that is not known in time, ConfigurationError for a client that cannot know
 */
export async function awaitReplication(db: Db, how: Omit<ExecuteOptions, 'beforeCommit'>): Promise<void> {
  const plan: TransactionPlan<unknown, undefined, Last, never> = {
    first: () => [],
    check: () => ({ claimed: undefined }),
    work: async () => ({ last: { text: MARK, values: [] } }),
  };
  const options = { ...how, isolationLevel: 'ReadCommitted', durability: 'replicated', beforeCommit() {} } as const;
  const ended = await db.runThroughClient(() => db.runTransaction(plan, options), {
    withinMs: how.timeoutMs + how.maxWaitMs + SILENCE_MS,
  });
  if (ended.kind === 'committed') return;
  throw new StoreUnavailableError('It is not known whether the synchronous standby has it.', {
    cause: 'error' in ended ? ended.error : undefined,
  });
}
