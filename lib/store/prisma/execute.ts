import { IdempotencyError } from '../../core/errors.ts';
import type { Claim, Claimed, Completion, Executed, ExecuteOptions, KeyRow } from '../store.ts';
import { claim as claimKey } from './claim.ts';
import { type PrismaClientLike, primaryOf, type RawQueries } from './client.ts';
import { complete } from './complete.ts';
import { isLockTimeout, provesRollback, rollbackReason } from './errors.ts';
import { find } from './find.ts';
import { judgeWindow } from './window.ts';

/** How often a claim is tried again whose rival's row was gone before it could be read (C3). */
const MAX_CLAIMS = 3;

/**
 * Where an execution stands decides what an error means: before COMMIT is sent nothing can be committed, after it
 * everything can.
 */
type Stage = 'claiming' | 'running' | 'committing';

/** `Store.execute` in one interactive transaction of the user's client. */
export async function execute<Tx extends RawQueries>(
  client: PrismaClientLike,
  claim: Claim,
  run: (tx: Tx, claimed: Claimed) => Promise<Completion>,
  how: ExecuteOptions,
): Promise<Executed> {
  for (let attempt = 1; ; attempt++) {
    const ended = await executeOnce(client, claim, run, how);
    if (ended !== 'vanished') return ended.kind === 'committed' ? await verified(client, ended.row) : ended;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function executeOnce<Tx extends RawQueries>(
  client: PrismaClientLike,
  claim: Claim,
  run: (tx: Tx, claimed: Claimed) => Promise<Completion>,
  how: ExecuteOptions,
): Promise<Executed | 'vanished'> {
  let stage: Stage = 'claiming';
  try {
    return await client.$transaction(
      async (tx: Tx): Promise<Executed | 'vanished'> => {
        const claimed = await claimKey(tx, claim);
        if (!claimed) return await rivalOf(tx, claim);
        stage = 'running';
        const completion = await run(tx, claimed);
        const row = await complete(tx, claim, claimed, completion);
        await how.beforeCommit();
        stage = 'committing';
        return { kind: 'committed', row };
      },
      {
        timeout: how.timeoutMs,
        maxWait: how.maxWaitMs,
        // READ COMMITTED: the loser reads the winner's row in a new statement, which must see what was committed
        // while it waited. Under a stricter level that wait ends in a serialization failure, and is tried again.
        isolationLevel: how.isolationLevel ?? 'ReadCommitted',
      },
    );
  } catch (error) {
    return meaningOf(error, stage);
  }
}

/**
 * Looks whether what was said to be committed is. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK,
 * which Prisma does not look at. It happens when a handler leaves a query unawaited: one of its statements can fail
 * between the completion and COMMIT. Without this look a customer would be told of an order that does not exist.
 */
async function verified(client: PrismaClientLike, told: KeyRow): Promise<Executed> {
  let row: KeyRow | undefined;
  try {
    row = await find(primaryOf(client), told);
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  if (row?.result === told.result) return { kind: 'committed', row };
  // Rolled back, and claimed by another since: that one's answer stands.
  if (row) return { kind: 'existing', row };
  const error = new IdempotencyError(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
    { existing: 'no row', expected: 'the row that was committed' },
  );
  return { kind: 'rolled_back', error, why: 'error' };
}

/** What was in the way, in a statement of its own, behind the one that waited for it. */
async function rivalOf(tx: RawQueries, claim: Claim): Promise<Executed | 'vanished'> {
  const row = await find(tx, claim);
  if (row) return { kind: 'existing', row };
  const verdict = await judgeWindow(tx, claim);
  if (verdict !== 'open') return { kind: verdict };
  return claim.waitMs > 0 ? 'vanished' : { kind: 'locked' };
}

function meaningOf(error: unknown, stage: Stage): Executed {
  if (stage === 'claiming' && isLockTimeout(error)) return { kind: 'locked' };
  if (stage === 'committing' && !provesRollback(error)) return { kind: 'in_doubt', error };
  return { kind: 'rolled_back', error, why: rollbackReason(error) };
}
