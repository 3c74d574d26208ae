import type { Claim, Claimed, Completion, Executed } from '../store.ts';
import { type ClaimedRow, claimStatement } from './claim.ts';
import { type PrismaClientLike, primaryOf, type RawQueries } from './client.ts';
import { completedRow, completionStatement, explained, FIRST_TOKEN } from './complete.ts';
import { explainedReadOnly, isLockTimeout, isReadOnly, isSetUpFault } from './errors.ts';
import type { FrameOptions } from './frame.ts';
import { framed, whyOf } from './framed.ts';
import { MAX_CLAIMS, type Rival, rivalOf } from './rival.ts';
import { explainedBySchema, throwSchemaGap } from './schema-version.ts';
import { verified } from './verified.ts';

/** `Store.execute` in one transaction of the user's client. */
export async function execute<Tx extends RawQueries>(
  client: PrismaClientLike,
  claim: Claim,
  run: (tx: Tx, claimed: Claimed) => Promise<Completion>,
  how: FrameOptions,
): Promise<Executed> {
  for (let attempt = 1; ; attempt++) {
    const ended = await executeOnce(client, claim, run, how);
    if (ended !== 'vanished') return ended;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function executeOnce<Tx extends RawQueries>(
  client: PrismaClientLike,
  claim: Claim,
  run: (tx: Tx, claimed: Claimed) => Promise<Completion>,
  how: FrameOptions,
): Promise<Executed | 'vanished'> {
  let done: { claimed: ClaimedRow; completion: Completion } | undefined;
  let isClaimed = false;
  const work = async (tx: Tx, [row]: readonly unknown[]) => {
    isClaimed = row !== undefined;
    if (!row) return { skip: await rivalOf(tx, claim) };
    const claimed = row as ClaimedRow;
    const expiresAt = new Date(claimed.expiresAtMs);
    const completion = await run(tx, { fencingToken: FIRST_TOKEN, expiresAt });
    done = { claimed, completion };
    return { last: completionStatement(claim, completion) };
  };
  const ended = await framed<Tx, Rival>(client, claimStatement(claim, how.timeoutMs), work, how);
  switch (ended.kind) {
    case 'skipped':
      return ended.value;
    case 'in_doubt':
      return ended;
    case 'rolled_back': {
      if (ended.at === 'first' && isLockTimeout(ended.error)) return { kind: 'locked' };
      if (ended.at !== 'work') await throwSchemaGap(ended.error, primaryOf(client), 'keys');
      const { error } = ended;
      const rolledBack = { kind: 'rolled_back', why: whyOf(ended) } as const;
      if (ended.at === 'last') return { ...rolledBack, error: explained(error), at: 'commit' };
      if (ended.at === 'work' && isClaimed) return { ...rolledBack, error, at: 'run' };
      // The claim is a statement of ours alone, so it is not the handler's doing.
      if (isSetUpFault(error)) throw await explainedBySchema(error, undefined, 'keys');
      const isAway = isReadOnly(error) && { why: 'unavailable' as const };
      return { ...rolledBack, ...isAway, error: explainedReadOnly(error), at: 'claim' };
    }
    case 'committed': {
      const { claimed, completion } = done as NonNullable<typeof done>;
      const row = completedRow(claim, claimed, completion, ended.last);
      return ended.isProven ? { kind: 'committed', row } : await verified(client, row, how.maxWaitMs);
    }
  }
}
