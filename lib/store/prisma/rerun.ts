import type { KeyId } from '../../core/scope.ts';
import type { Completion, KeyRow } from '../rows.ts';
import type { Executed } from '../store.ts';
import { type PrismaClientLike, RERUNS } from './client.ts';
import { explainedAbort } from './keys/complete.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './keys/read.ts';
import { runTransaction } from './run-transaction.ts';
import { LEVEL } from './statement.ts';
import { type Plan, rollbackReasonOf, type TransactionOptions } from './transaction.ts';
import { verified } from './verified.ts';

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
