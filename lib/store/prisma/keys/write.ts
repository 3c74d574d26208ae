import type { Held, Write } from '../../leases.ts';
import type { Statement } from '../statement.ts';
import { holderOf, IS_HELD, orFail, RENEWED, RENEWED_WITH_PROGRESS } from './lease.ts';
import { KEY_COLUMNS } from './row.ts';

/**
 * All that a transaction of the executor writes of the key, in one statement under the token, which fails where the key is
 * no longer this executor's: COMMIT may be behind it on the wire. It returns a `RawRow` where it settles the key.
 *
 * The recovery point is the last atomic phase: of a captured value, or a call that has begun, nothing is finished yet. The
 * insert fails on a step that is there already, which no run with the right token can reach.
 */
export function writeStatement(held: Held, leaseMs: number, { steps = [], start, settle }: Write): Statement {
  const values: unknown[] = holderOf(held);
  const $ = (value: unknown) => `$${values.push(value)}`;
  const lease = settle ? undefined : values.push(leaseMs); // $7, as in hold.ts
  const phase = steps.findLast(({ kind }) => kind === 'atomic')?.name;
  const sets = [
    // Input, arguments and results of steps were kept so that the key could be finished. It is. The version is that of
    // the executor that finishes it. A key that settles late is kept for another day: who asks then must find its answer.
    ...(settle
      ? [
          `state = ${$(settle.state)}, result = ${$(settle.result)}, schema_version = ${$(settle.schemaVersion)}::int,
           settled_at = clock_timestamp(), lease_until = NULL, next_attempt_at = NULL, input = NULL,
           needs_attention = false, expires_at = greatest(expires_at, clock_timestamp() + interval '24 h')`,
        ]
      : []),
    ...(lease ? [steps.length > 0 ? RENEWED_WITH_PROGRESS : RENEWED] : []),
    ...(phase === undefined ? [] : [`recovery_point = ${$(phase)}::text`]),
  ];
  const parts = [
    `changed AS (UPDATE idempotency_keys SET ${sets.join(', ')} WHERE ${IS_HELD}
     RETURNING ${settle ? KEY_COLUMNS : '1 AS held'})`,
  ];
  if (steps.length > 0) {
    const rows = steps.map(({ name, position, kind, result }) => {
      const stored = settle ? null : result;
      return `(${$(name)}::text, ${$(position)}::int, ${$(kind)}::text, ${$(stored)}::text)`;
    });
    parts.push(`
recorded AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, result, fencing_token,
                                  finished_at)
  SELECT $1, $2, $3, $4, s.name, s.position, s.kind, 'done', s.result, $6::int, clock_timestamp()
    FROM changed, (VALUES ${rows.join(', ')}) AS s (name, position, kind, result))`);
  }
  if (start) {
    const { name, position, derivedKey, providerKeyTtlMs = 0 } = start;
    parts.push(`
started AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, arguments, derived_key,
                                  fencing_token, sends, first_sent_at, last_sent_at, keys_until)
  SELECT $1, $2, $3, $4, ${$(name)}, ${$(position)}::int, 'foreign', 'started', ${$(start.arguments)}::bytea,
         ${$(derivedKey)}, $6::int, 1, clock_timestamp(), clock_timestamp(),
         clock_timestamp() + nullif(${$(providerKeyTtlMs)}::float8, 0) * interval '1 ms'
    FROM changed)`);
  }
  if (settle) {
    // Of the steps that were there before; those of this statement are written without a result.
    parts.push(`
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND EXISTS (SELECT FROM changed))`);
  }
  const written = `\nWITH ${parts.join(',')}\n`;
  return { text: `${written}${orFail('changed')}`, alone: `${written}SELECT * FROM changed`, values };
}
