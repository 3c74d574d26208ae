import type { Claim, Claimed, Completion, Executed, ExecuteOptions } from '../store.ts';
import { bounded } from './bounded.ts';
import { claim as claimKey } from './claim.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { complete } from './complete.ts';
import { isLockTimeout, provesRollback, rollbackReason } from './errors.ts';
import { MAX_CLAIMS, rivalOf } from './rival.ts';
import { verified } from './verified.ts';

/** How much later than its timeouts an execution is given up whose connection says nothing any more. */
const SILENCE_MS = 2000;

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
    const ended = await settled(() => executeOnce(client, claim, run, how), how);
    if (ended !== 'vanished') {
      return ended.kind === 'committed' ? await verified(client, ended.row, how.maxWaitMs) : ended;
    }
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

/**
 * Prisma's timeout waits behind a statement that hangs, so a connection that has gone silent would hold its caller, and
 * the flight of its key, for ever. Nothing is known of it: it may still commit.
 */
async function settled<T>(begin: () => Promise<T>, how: ExecuteOptions): Promise<T | Executed> {
  try {
    return await bounded(begin, how.timeoutMs + how.maxWaitMs + SILENCE_MS);
  } catch (error) {
    return { kind: 'in_doubt', error };
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
        const claimed = await claimKey(tx, claim, how.timeoutMs);
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

function meaningOf(error: unknown, stage: Stage): Executed {
  if (stage === 'claiming' && isLockTimeout(error)) return { kind: 'locked' };
  if (stage === 'committing' && !provesRollback(error)) return { kind: 'in_doubt', error };
  return { kind: 'rolled_back', error, why: rollbackReason(error) };
}
