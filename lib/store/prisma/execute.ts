import { IdempotencyError } from '../../core/errors.ts';
import type { Claim, Completion } from '../rows.ts';
import type { Claimed as ClaimedKey, Executed } from '../store.ts';
import type { PrismaClientLike } from './client.ts';
import type { Gate } from './db.ts';
import { isBadNumber, isLockTimeout, isSetUpFault, isUniqueViolation } from './errors.ts';
import { type Claimed, claimedBy, claimStatements, MAX_CLAIMS, type Rival, rivalOf } from './keys/claim.ts';
import { completedRow, completionStatement, explained, FIRST_TOKEN } from './keys/complete.ts';
import { find } from './keys/read.ts';
import { explainedBySchema } from './keys/schema.ts';
import { explainedReadOnly } from './outage.ts';
import { runTransaction } from './run-transaction.ts';
import { type Plan, rollbackReasonOf, type TransactionEnd, type TransactionOptions } from './transaction.ts';
import { verified } from './verified.ts';

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
