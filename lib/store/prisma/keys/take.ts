import type { KeyId } from '../../../core/scope.ts';
import type { Held, Share } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { stepsOf } from './steps.ts';

interface Taken extends KeyId {
  state: Held['state'];
  fencing_token: number;
  attempts: number;
  schema_version: number;
  input: Uint8Array | null;
  trace_parent: string | null;
  needs_attention: boolean;
}

// A higher token for a key in progress, so that its old executor's next write changes nothing; by a step that is drawn, for a
// takeover may be lost in a failover, and made again by another. An unknown key keeps its
// token, for it is only asked about; whoever asks is alone until `next_attempt_at`, and the first to find out wins.
//
// FOR UPDATE SKIP LOCKED: of many completers and retries at once one takes a key, and none waits. It also skips a key
// whose executor is inside a transaction, which holds the row: it is slow, not dead. The lock re-checks the condition
// on the newest version of the row, so a lease that was renewed a moment ago is seen.
const take = (due: string, counts: string, of = '') => `
WITH due AS MATERIALIZED (${due})
UPDATE idempotency_keys
   SET fencing_token = CASE state WHEN 'in_progress' THEN fencing_token + 1 + floor(random() * 1000)::int ELSE fencing_token END,
       attempts = attempts + CASE WHEN ${counts} THEN 1 ELSE 0 END,
       lease_until = CASE state WHEN 'in_progress' THEN clock_timestamp() + $1::float8 * interval '1 ms' END,
       next_attempt_at = clock_timestamp() + $1::float8 * interval '1 ms'
 WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM due)${of}
RETURNING tenant, principal, operation, key, state, fencing_token, attempts, schema_version, input, trace_parent,
          needs_attention`;

const IS_WANTED = 'tenant = $2 AND principal = $3 AND operation = $4 AND key = $5';

// A client that retries ahead of the pause does not use up what the completer is given.
const TAKE_ONE = take(
  `SELECT tenant, principal, operation, key FROM idempotency_keys
   WHERE ${IS_WANTED}
     AND ((state = 'in_progress' AND lease_until <= clock_timestamp()
           AND ($6::boolean OR next_attempt_at <= clock_timestamp()))
          OR (state = 'unknown' AND next_attempt_at <= clock_timestamp()))
     FOR UPDATE SKIP LOCKED`,
  'NOT $6::boolean',
  // Said once more: tables that are distributed find the row by what a statement names, not by what another found.
  ` AND ${IS_WANTED}`,
);

// Each operation by itself: a thousand keys of one, which wait for a provider that is slow, stand before none of another.
const TAKE_DUE = take(
  `SELECT k.* FROM unnest($2::text[], $3::int[]) AS share(wanted, most) CROSS JOIN LATERAL (
    SELECT tenant, principal, operation, key FROM idempotency_keys
     WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= clock_timestamp() AND operation = wanted
       AND (state = 'unknown' OR lease_until <= clock_timestamp())
     ORDER BY next_attempt_at LIMIT most
       FOR UPDATE SKIP LOCKED) AS k`,
  'true',
);

/** `Leases.takeOver`. */
export async function takeOver(db: RawQueries, id: KeyId, leaseMs: number, early: boolean): Promise<Held | undefined> {
  const { tenant, principal, operation, key } = id;
  const rows = await db.$queryRawUnsafe<Taken[]>(TAKE_ONE, leaseMs, tenant, principal, operation, key, early);
  return rows[0] && (await heldOf(db, rows[0]));
}

/** `Leases.takeDue`. */
export async function takeDue(db: RawQueries, shares: readonly Share[], leaseMs: number): Promise<Held[]> {
  const operations = shares.map(({ operation }) => operation);
  const limits = shares.map(({ most }) => most);
  const rows = await db.$queryRawUnsafe<Taken[]>(TAKE_DUE, leaseMs, operations, limits);
  const taken: Held[] = [];
  for (const row of rows) taken.push(await heldOf(db, row));
  return taken;
}

/** Read behind the take, in a statement of its own: from there on the old executor writes no step any more. */
async function heldOf(db: RawQueries, row: Taken): Promise<Held> {
  const { tenant, principal, operation, key, state, attempts, input } = row;
  const id = { tenant, principal, operation, key };
  return {
    id,
    state,
    fencingToken: row.fencing_token,
    attempts,
    needsAttention: row.needs_attention,
    schemaVersion: row.schema_version,
    input,
    traceParent: row.trace_parent,
    steps: await stepsOf(db, id),
  };
}
