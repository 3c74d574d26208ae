import type { KeyId } from '../../../core/scope.ts';
import type { Probed } from '../../store.ts';
import type { PrismaClientLike, RawQueries } from '../client.ts';
import { isLockTimeout } from '../errors.ts';
import { find } from './find.ts';
import { ticketOf } from './ticket.ts';

// Alone in its own transaction, so the ticket is given back at once; shared, so that two probes never meet.
const IS_FREE = 'SELECT pg_try_advisory_xact_lock_shared($1::bigint) AS free';

// Without a ticket, so that a claim beside it does not take the probe for a rival: it waits for this row's end, a
// moment away. What the insert itself waits for is a claim that drew no ticket, such as an older version's.
const PROBE = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', '50ms', true))
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at)
SELECT $1, $2, $3, $4, 'abandoned', now(), now() + interval '1 h' FROM bounded
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING state`;

/** Ends the probing transaction without a trace. */
class Undo extends Error {}

/** What stands in the way of a key. The insert is always rolled back. */
export async function probe(db: PrismaClientLike, id: KeyId): Promise<Probed> {
  const row = await find(db, id);
  if (row) return { kind: 'existing', row };
  const [ticket] = await db.$queryRawUnsafe<{ free: boolean }[]>(IS_FREE, ticketOf(id));
  if (!ticket?.free) return { kind: 'locked' };
  try {
    const rival = await db.$transaction(
      async (tx: RawQueries) => {
        const inserted = await tx.$queryRawUnsafe<unknown[]>(PROBE, id.tenant, id.principal, id.operation, id.key);
        if (inserted.length > 0) throw new Undo();
        return await find(tx, id);
      },
      // What was committed while the insert waited must be seen by the statement behind it.
      { isolationLevel: 'ReadCommitted' },
    );
    return rival ? { kind: 'existing', row: rival } : { kind: 'absent' };
  } catch (error) {
    if (error instanceof Undo) return { kind: 'absent' };
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  }
}
