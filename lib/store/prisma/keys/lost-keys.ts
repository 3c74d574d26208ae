import type { EnteredLost, LostKey, LostStep, Reconciliation } from '../../lost-keys.ts';
import { type RawQueries, sendStatement } from '../client.ts';
import type { Statement } from '../statement.ts';
import { timestamp } from '../wire/encoding.ts';
import { thingTicketOf, ticketOf, tryBoth } from './claim.ts';
import { FIRST_TOKEN } from './complete.ts';
import { AUDIT } from './operate.ts';
import { find, NOW } from './read.ts';

// The same insert against the same unique index as a claim, and one statement, so that a crash leaves all of it or nothing.
// From its COMMIT on, a retry of the key meets a row, and a completer goes on with it. The window is not asked: the key was
// executed when it was young, and only a row can say so.
//
// The ticket prevents this: a late retry executes the key, and its transaction fails at its end because a row has come. It
// is tried once, for whoever reconciles can look again.
//
// A thing that another key holds by now stays that one's. An answer is entered all the same, without the thing, so that a
// retry is answered. A key that would be gone on with is not entered: it would do once more what the other key has done.
interface ThingParameters {
  name: string;
  ticket: string;
}
const isFree = ({ name }: ThingParameters) => `NOT EXISTS (
           SELECT FROM idempotency_keys
            WHERE tenant = $1::varchar AND operation = $3::varchar AND thing = ${name}::text)`;
const enter = (steps: string, key: LostKey['is'], thing?: ThingParameters) => `
WITH ticket AS MATERIALIZED (SELECT ${
  thing ? tryBoth('$5', thing.ticket) : 'pg_try_advisory_xact_lock($5::bigint)'
} AS drawn),
entered AS (
  INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                                schema_version, claimed_at, expires_at, ${'result' in key ? 'result, settled_at' : 'input, lease_until, next_attempt_at'}${thing ? ', thing' : ''})
  SELECT $1, $2, $3, $4, '${'result' in key ? 'succeeded' : 'in_progress'}', $6::bytea, $7::smallint, $8, $9::int,
         clock_timestamp(), clock_timestamp() + $10::float8 * interval '1 ms',
         ${'result' in key ? '$11::text, clock_timestamp()' : `$11::bytea, ${NOW}, ${NOW}`}${
           thing
             ? `,
         (SELECT ${thing.name}::text WHERE ${isFree(thing)})`
             : ''
         }
    FROM ticket WHERE drawn${thing && 'input' in key ? ` AND ${isFree(thing)}` : ''}
  ON CONFLICT ${thing ? '' : '(tenant, principal, operation, key) '}DO NOTHING
  RETURNING 1),${steps}
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'reconciled', $12::text, $13::jsonb FROM entered)
SELECT drawn, EXISTS (SELECT FROM entered) AS entered FROM ticket`;

/** `LostKeys.enterLost`. */
export async function enterLost(db: RawQueries, lost: LostKey, by: Reconciliation): Promise<EnteredLost> {
  const [row] = (await sendStatement(db, enterStatement(lost, by))) as { drawn: boolean; entered: boolean }[];
  if (row?.entered) return 'entered';
  if (!row?.drawn) return 'locked';
  // A row is in the way: the key's own, or another key's that has its thing and may be younger than the statement's snapshot.
  if (await find(db, lost)) return 'existing';
  return lost.thing !== undefined && 'input' in lost.is ? 'held' : 'locked';
}

export function enterStatement(lost: LostKey, by: Reconciliation): Statement {
  const { tenant, principal, operation, key, fingerprint, schemaVersion, retentionMs, thing, is } = lost;
  const values: unknown[] = [tenant, principal, operation, key, ticketOf(lost)];
  values.push(fingerprint?.hash ?? null, fingerprint?.version ?? null, fingerprint?.secretId ?? null);
  values.push(schemaVersion, retentionMs, 'result' in is ? is.result : is.input, by.actor, JSON.stringify(by.detail));
  const $ = (value: unknown) => `$${values.push(value)}`;
  const steps = 'result' in is ? '' : stepsOf(is.steps, $);
  const held = thing === undefined ? undefined : { name: $(thing), ticket: $(thingTicketOf(lost, thing)) };
  return { text: enter(steps, is, held), values };
}

// A call that may have been done counts as sent at the earliest time at which it can have been, from which the provider's
// memory of its key is reckoned, and as sent at the latest now: "absent" may mean "not yet" for a while.
function stepsOf(steps: readonly LostStep[], $: (value: unknown) => string): string {
  if (steps.length === 0) return '';
  const rows = steps.map((step) => {
    const call = step.kind === 'foreign' ? step : undefined;
    const sent = call ? `coalesce(${$(call.notBefore && timestamp(call.notBefore))}::timestamptz, 'epoch')` : 'NULL';
    return `(${$(step.name)}::text, ${$(step.position)}::int, ${$(step.kind)}::text, ${$(step.result)}::text,
             ${$(call?.arguments ?? null)}::bytea, ${$(call?.derivedKey ?? null)}::text, ${sent}::timestamptz,
             nullif(${$(call?.providerKeyTtlMs ?? 0)}::float8, 0) * interval '1 ms')`;
  });
  return `
steps AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, result, arguments,
                                  derived_key, fencing_token, sends, first_sent_at, keys_until, last_sent_at, finished_at)
  SELECT $1, $2, $3, $4, s.name, s.position, s.kind, CASE WHEN s.result IS NULL THEN 'started' ELSE 'done' END, s.result,
         s.arguments, s.derived_key, ${FIRST_TOKEN}, CASE s.kind WHEN 'foreign' THEN 1 ELSE 0 END, s.sent, s.sent + s.remembered,
         CASE s.kind WHEN 'foreign' THEN clock_timestamp() END,
         CASE WHEN s.result IS NOT NULL THEN clock_timestamp() END
    FROM entered, (VALUES ${rows.join(', ')}) AS s (name, position, kind, result, arguments, derived_key, sent, remembered)),`;
}
