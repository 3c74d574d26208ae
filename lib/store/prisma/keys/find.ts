import type { KeyId } from '../../../core/scope.ts';
import type { KeyRow } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { readOnlyError } from '../wire/encoding.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';

// No lock: a settled row never changes, and whoever waits for an unsettled one asks again. One row comes back in any case,
// and says who has answered.
const FIND = `
SELECT server."isInRecovery", ${KEY_COLUMNS} FROM (SELECT pg_is_in_recovery() AS "isInRecovery") AS server
  LEFT JOIN idempotency_keys ON tenant = $1 AND principal = $2 AND operation = $3 AND key = $4`;

type Found = { isInRecovery: boolean } & (RawRow | { [column in keyof RawRow]: null });

/**
 * The committed row of a key, if there is one.
 *
 * @throws the error of a server that takes no writes (25006) where it is in recovery: a primary that has come back as a standby
 *   shows commits that were acknowledged to nobody and that the new primary lacks, and a standby lacks what is acknowledged
 */
export async function find(db: RawQueries, id: KeyId): Promise<KeyRow | undefined> {
  const { tenant, principal, operation, key } = id;
  const [found] = await db.$queryRawUnsafe<[Found]>(FIND, tenant, principal, operation, key);
  if (found.isInRecovery) throw readOnlyError('the server is in recovery, and its answers may not last');
  return found.key === null ? undefined : toKeyRow(found);
}
