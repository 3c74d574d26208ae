import type { Held, LeasedCompletion } from '../leases.ts';
import { holderOf, IS_HELD, orFail } from './hold.ts';
import { KEY_COLUMNS } from './row.ts';
import type { Statement } from './statement.ts';

// Input, arguments and results of steps were kept so that the key could be finished. It is. The version is that of the
// executor that finishes it. A key that settles late is kept for another day: who asks for it then must find its answer.
const SETTLE = `
WITH settled AS (
  UPDATE idempotency_keys
     SET state = $7, result = $8, settled_at = clock_timestamp(), lease_until = NULL, next_attempt_at = NULL,
         input = NULL, needs_attention = false, schema_version = $9::int,
         expires_at = greatest(expires_at, clock_timestamp() + interval '24 h')
   WHERE ${IS_HELD}
  RETURNING ${KEY_COLUMNS}),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND EXISTS (SELECT FROM settled))
${orFail('settled')}`;

/** Stores the answer of a key in phases and settles it, under the token. Returns the row, a `RawRow`, or fails. */
export function settleStatement(held: Held, { state, result, schemaVersion }: LeasedCompletion): Statement {
  return { text: SETTLE, values: [...holderOf(held), state, result, schemaVersion] };
}
