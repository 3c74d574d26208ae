import type { KeyId } from '../../core/scope.ts';
import type { Completion, Executed, ExecuteOptions } from '../store.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { provesRollback, rollbackReason } from './errors.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';
import { verified } from './verified.ts';

// The lock prevents this: two calls find the same unreadable result, and both run.
const LOCK = `
SELECT ${KEY_COLUMNS} FROM idempotency_keys
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded'
   FOR UPDATE`;

// The version it leaves is named, under the lock: what another call has brought up to date meanwhile stays as it is.
const REPLACE = `
UPDATE idempotency_keys SET result = $5, schema_version = $6::int
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'succeeded' AND schema_version < $6::int
RETURNING ${KEY_COLUMNS}`;

/** `Store.rerun` in one interactive transaction of the user's client. */
export async function rerun<Tx extends RawQueries>(
  client: PrismaClientLike,
  id: KeyId & { schemaVersion: number },
  run: (tx: Tx) => Promise<Completion>,
  how: ExecuteOptions,
): Promise<Executed> {
  const key = [id.tenant, id.principal, id.operation, id.key];
  let isCommitting = false;
  try {
    const ended = await client.$transaction(
      async (tx: Tx): Promise<Executed> => {
        const [stored] = await tx.$queryRawUnsafe<RawRow[]>(LOCK, ...key);
        if (!stored) return { kind: 'locked' };
        // An answer that a person has erased is not made again, not even by work that does no harm twice.
        const isForgotten = stored.result === null;
        if (isForgotten || stored.schema_version >= id.schemaVersion)
          return { kind: 'existing', row: toKeyRow(stored) };
        const { result } = await run(tx);
        const [replaced] = await tx.$queryRawUnsafe<RawRow[]>(REPLACE, ...key, result, id.schemaVersion);
        await how.beforeCommit();
        isCommitting = true;
        return { kind: 'committed', row: toKeyRow(replaced ?? stored) };
      },
      { timeout: how.timeoutMs, maxWait: how.maxWaitMs, isolationLevel: 'ReadCommitted' },
    );
    return ended.kind === 'committed' ? await verified(client, ended.row, how.maxWaitMs) : ended;
  } catch (error) {
    if (isCommitting && !provesRollback(error)) return { kind: 'in_doubt', error };
    return { kind: 'rolled_back', error, why: rollbackReason(error) };
  }
}
