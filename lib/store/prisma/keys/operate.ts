import type { Leases } from '../../leases.ts';
import type { ActResult, AuditRecord, Erased, ErasedKeys, Oversight, Person, SeenRow } from '../../oversight.ts';
import { countRows, type RawQueries } from '../client.ts';
import type { Asked, Db } from '../db.ts';
import { transactInPrisma } from '../interactive-transaction.ts';
import { ERASE_MS } from '../timeouts.ts';
import { OPEN_KEYS } from './list.ts';
import { epochMs, IS_KEY, keyValues, NOW, withDates } from './read.ts';

/** The beginning of a record of what a person did: part of the statement that does it, so that neither is there alone. */
export const AUDIT = 'INSERT INTO idempotency_audit (tenant, principal, operation, key, type, actor, detail)';

/** The end of a statement that acts on a key as it was `seen`: the record of what is `done`, and what came of it. */
const recorded = (type: string, done: string, isRefused: string) => `audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, '${type}', $6::text, NULL FROM ${done})
SELECT CASE WHEN EXISTS (SELECT FROM ${done}) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen WHERE ${isRefused}) THEN 'refused'
            ELSE 'changed' END AS operated`;

// An executor's possible acts meanwhile, and what each meets:
//
// - It renews its lease, or begins a call: then the row is no longer of the version by which the steps were judged, which
//   are read as of the statement's beginning. `xmin` names that version; the lock looks at the newest.
// - It is inside a transaction, longer than its lease lasts: it is slow, not dead. It holds the row, and SKIP LOCKED
//   passes it over. So of two clicks at once one gets the row.
// - Without a lease it ran in one transaction, which is over: otherwise the row would not be seen.
// - It comes back later: the higher token lets none of its writes through.
const RELEASE = `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version, state = 'in_progress' AND fencing_token = $5::int AS is_same,
         coalesce(lease_until <= clock_timestamp(), true)
         AND NOT EXISTS (
           SELECT FROM idempotency_phases
            WHERE ${IS_KEY} AND state = 'started' AND sends > not_executed
              AND coalesce(keys_until <= clock_timestamp(), true)) AS is_safe
    FROM idempotency_keys WHERE ${IS_KEY}),
free AS MATERIALIZED (
  SELECT 1 FROM idempotency_keys
   WHERE ${IS_KEY} AND xmin = (SELECT version FROM seen WHERE is_same AND is_safe)
     FOR NO KEY UPDATE SKIP LOCKED),
released AS (
  UPDATE idempotency_keys
     SET fencing_token = fencing_token + 1, lease_until = ${NOW}, next_attempt_at = ${NOW},
         attempts = 0, needs_attention = false
    FROM free
   WHERE ${IS_KEY}
  RETURNING 1),
${recorded('released', 'released', 'is_same')}`;

// The count of attempts starts anew: a person has looked at it. A completer takes what has a lease that is over.
const RETRY = `
WITH woken AS (
  UPDATE idempotency_keys SET next_attempt_at = ${NOW}, attempts = 0, needs_attention = false,
         lease_until = CASE state WHEN 'in_progress' THEN coalesce(lease_until, ${NOW}) END,
         fencing_token = fencing_token + 1
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND fencing_token = $5::int
     AND state IN ('in_progress', 'unknown') AND (lease_until IS NULL OR lease_until <= clock_timestamp())
  RETURNING 1)
${AUDIT}
SELECT $1::text, $2::text, $3::text, $4::text, 'retry', $6::text, NULL FROM woken
RETURNING 1`;

const retryNow: Asked<Leases<never>, 'retryNow'> = async (db, id, actor) =>
  (await countRows(db, RETRY, ...keyValues(id), id.fencingToken, actor)) > 0;

// What may be done is named, so that nothing is erased that a key needs to go on, or that a person must see. And that it is
// not done yet: of two clicks, the second waits for the first, looks at the row again, and finds nothing to do. State, token
// and times stay: the row is what keeps the intent from being executed again.
const endKept = (
  type: string,
  { may, left, set, erases = '' }: { may: string; left: string; set: string; erases?: string },
) => `
WITH seen AS MATERIALIZED (
  SELECT ${may} AS may FROM idempotency_keys WHERE ${IS_KEY} AND fencing_token = $5::int),
ended AS (
  UPDATE idempotency_keys SET ${set}
   WHERE ${IS_KEY} AND fencing_token = $5::int AND ${may} AND ${left}
  RETURNING 1),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL${erases}
   WHERE ${IS_KEY} AND EXISTS (SELECT FROM ended)),
${recorded(type, 'ended', 'NOT may')}`;

const RECEIPT = ', reference = NULL, amount = NULL';

const ANSWER = { may: `state IN ('succeeded', 'failed') AND NOT needs_attention`, left: 'result IS NOT NULL' };

// Steps have been erased when the key settled; here once more, in case that an older version left anything.
const FORGET = endKept('forgotten', { ...ANSWER, set: 'result = NULL', erases: RECEIPT });

// Of a settled key nothing else is kept for a person. The reaper deletes it from its expiry on.
const ACKNOWLEDGE = endKept('acknowledged', {
  may: 'settled_at IS NOT NULL',
  left: 'needs_attention',
  set: 'needs_attention = false',
});

// With the names of things that a person's word has freed: nothing takes those again.
//
// No index knows principals: each would be an entry more for every key. It is asked for seldom.
const ERASE = `
WITH forgotten AS (
  UPDATE idempotency_keys SET result = NULL
   WHERE tenant = $1 AND principal = ANY ($2::text[]) AND ${ANSWER.may} AND ${ANSWER.left}
  RETURNING principal, operation, key),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL${RECEIPT}
    FROM forgotten
   WHERE tenant = $1 AND idempotency_phases.principal = forgotten.principal
     AND idempotency_phases.operation = forgotten.operation AND idempotency_phases.key = forgotten.key),
unnamed AS (
  DELETE FROM idempotency_events AS event USING idempotency_keys AS theirs
   WHERE event.tenant = $1 AND event.principal = ANY ($2::text[]) AND event.type = 'thing_freed' AND theirs.tenant = $1
     AND (theirs.principal, theirs.operation, theirs.key) = (event.principal, event.operation, event.key) AND ${ANSWER.may}),
audited AS (
  ${AUDIT}
  SELECT $1::text, principal, operation, key, 'forgotten', $3::text, '{"with": "principal"}'::jsonb FROM forgotten)
SELECT (SELECT count(*) FROM forgotten)::float8 AS forgotten,
       (SELECT count(*) FROM ${OPEN_KEYS}
         WHERE tenant = $1 AND principal = ANY ($2::text[]))::float8 AS unsettled,
       to_regclass('outbox_events') IS NOT NULL AS "hasMessages"`;

// One record for each of the person's names, whether anything was stored under it or not.
const RECORD_ERASED = `
${AUDIT}
SELECT $1::text, name, '', '', 'erased', $3::text, $4::jsonb FROM unnest($2::text[]) AS name`;

const release = operating(RELEASE);
const forget = operating(FORGET);
const acknowledge = operating(ACKNOWLEDGE);

function operating(statement: string) {
  return async (db: RawQueries, id: SeenRow, actor: string): Promise<ActResult> => {
    const values = [...keyValues(id), id.fencingToken, actor];
    const [row] = await db.$queryRawUnsafe<[{ operated: ActResult }]>(statement, ...values);
    return row.operated;
  };
}

/** `Oversight.erasePrincipal`. */
export async function erasePrincipal(
  db: Db,
  { tenant, names }: Person,
  actor: string,
  conclude: (keys: ErasedKeys, tx: never) => Promise<Erased>,
): Promise<Erased> {
  const erase: Parameters<typeof transactInPrisma<Erased>>[1] = async ({ db: given, handle }) => {
    const queries = db.queriesOn(given);
    const [keys] = await queries.$queryRawUnsafe<[ErasedKeys]>(ERASE, tenant, names, actor);
    const erased = await handle((tx: never) => conclude(keys, tx));
    await queries.$queryRawUnsafe(RECORD_ERASED, tenant, names, actor, JSON.stringify(detailOf(names, erased)));
    return erased;
  };
  const options = { timeout: ERASE_MS, isolationLevel: 'ReadCommitted' } as const;
  return await db.runThroughClient((client) => transactInPrisma(client, erase, options), { withinMs: ERASE_MS });
}

/** Names and numbers alone. */
function detailOf(names: readonly string[], { forgotten, unsettled, erased, left }: Erased): Record<string, string> {
  const counts = Object.entries({ keys: forgotten, unsettled, ...erased });
  return {
    names: names.join(', '),
    ...Object.fromEntries(counts.map(([name, count]) => [name, String(count)])),
    left: left.join('; '),
  };
}

const RECORD = `
${AUDIT}
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb)`;

const RECORDS = `
SELECT ${epochMs('at')} AS at, actor, type, tenant, principal, operation, key, detail FROM idempotency_audit
 WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR principal = $2)
   AND ($3::text IS NULL OR operation = $3) AND ($4::text IS NULL OR key = $4)
   AND ($5::text IS NULL OR actor = $5) AND ($6::text IS NULL OR type = $6)
 ORDER BY idempotency_audit.at DESC, id DESC LIMIT $7::int + 1 OFFSET $8::int`;

// By the time of the statement: see `reap.ts`. A record that is younger than 30 days, the database keeps. Without a lock, which
// needs the right to UPDATE: of two reapers at once the second waits in its DELETE, and finds the rows gone.
const REAP_AUDIT = `
WITH old AS MATERIALIZED (
  SELECT id FROM idempotency_audit
   WHERE at <= statement_timestamp() - $1::float8 * interval '1 ms'
   ORDER BY at LIMIT $2::int),
reaped AS (
  DELETE FROM idempotency_audit WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

export const record: Asked<Oversight, 'record'> = async (db, { type, actor, detail, ...of }) => {
  const { tenant = '', principal = '', operation = '', key = '' } = of;
  const json = detail && JSON.stringify(detail);
  await db.$queryRawUnsafe(RECORD, tenant, principal, operation, key, type, actor, json ?? null);
};

const audit: Asked<Oversight, 'audit'> = async (db, filter) => {
  const { tenant, principal, operation, key, actor, type, limit, offset } = filter;
  const given = [tenant, principal, operation, key, actor, type].map((value) => value ?? null);
  const rows = await withDates<AuditRecord>(db.$queryRawUnsafe(RECORDS, ...given, limit, offset), 'at');
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
};

export const reapAudit: Asked<Oversight, 'reapAudit'> = async (db, retentionMs, limit) => {
  const [reaped] = await db.$queryRawUnsafe<[{ count: number }]>(REAP_AUDIT, retentionMs, limit);
  return reaped.count;
};

export const actQuestions = { retryNow, release, forget, acknowledge, record, audit };
