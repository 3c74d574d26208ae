import { parseKey } from '../../../core/key.ts';
import type { KeyId } from '../../../core/scope.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Leases, Step } from '../../leases.ts';
import type { Claim, KeyRow, Obstacle } from '../../rows.ts';
import type { Store } from '../../store.ts';
import { countRows, type RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { readOnlyError } from '../errors.ts';

/** The columns of a `RawRow`. Times as numbers, whatever the session's DateStyle and time zone make of their text. */
export const KEY_COLUMNS = `tenant, principal, operation, key, state, fencing_token AS "fencingToken", attempts, fingerprint,
  fingerprint_version AS "fingerprintVersion", secret_id AS "secretId", result, schema_version AS "schemaVersion",
  ${epochMs('minted_at')} AS "mintedAt", ${epochMs('claimed_at')} AS "claimedAt", ${epochMs('settled_at')} AS "settledAt",
  ${epochMs('expires_at')} AS "expiresAt", ${epochMs('lease_until')} AS "leaseUntil",
  ${epochMs('next_attempt_at')} AS "nextAttemptAt", recovery_point AS "recoveryPoint", needs_attention AS "needsAttention",
  trace_parent AS "traceParent"`;

/** The row of one key: parameters 1 to 4. */
export const IS_KEY = 'tenant = $1 AND principal = $2 AND operation = $3 AND key = $4';

/** The values of these parameters. */
export function keyValues({ tenant, principal, operation, key }: KeyId): [string, string, string, string] {
  return [tenant, principal, operation, key];
}

type Times = 'mintedAt' | 'claimedAt' | 'settledAt' | 'expiresAt' | 'leaseUntil' | 'nextAttemptAt';

/** A row as the driver gives it. */
export interface RawRow extends Omit<KeyRow, 'fingerprint' | Times>, Record<Times, number | null> {
  claimedAt: number;
  expiresAt: number;
  fingerprint: Uint8Array | null;
  fingerprintVersion: number | null;
  secretId: string | null;
}

/** @param raw without other columns: they would be fields of the row, too */
export function toKeyRow({ fingerprint: hash, fingerprintVersion: version, secretId, ...row }: RawRow): KeyRow {
  const fingerprint = hash === null || version === null || secretId === null ? null : { hash, version, secretId };
  return {
    ...row,
    ...datesOf(row, 'claimedAt', 'settledAt', 'expiresAt', 'leaseUntil', 'nextAttemptAt'),
    fingerprint,
    mintedAt: mintedAtOf({ ...row, secretId }),
  };
}

/** When a row's key was minted; null for one that was not minted here. */
export function mintedAtOf({ key, secretId, mintedAt }: Pick<RawRow, 'key' | 'secretId' | 'mintedAt'>): Date | null {
  return dateOf(mintedAt) ?? signedAt(key, secretId);
}

const dateOf = (ms: number | null) => (ms === null ? null : new Date(Math.round(ms)));

type Dates<Row, Column extends keyof Row> = { [Each in Column]: null extends Row[Each] ? Date | null : Date };

function datesOf<Row, Column extends keyof Row>(row: Row, ...columns: Column[]): Dates<Row, Column> {
  const dates = columns.map((column) => [column, dateOf(row[column] as number | null)]);
  return Object.fromEntries(dates) as Dates<Row, Column>;
}

/**
 * The time that a key carries under a signature, which need not be stored beside it. Null for other keys, and where no
 * secret was configured: then nobody has looked at the signature.
 */
export function signedAt(key: string, secretId: string | null): Date | null {
  if (secretId === null || secretId === NO_SECRET) return null;
  const parsed = parseKey(key);
  return parsed.shape === 'signed' ? parsed.mintedAt : null;
}

/**
 * The present for columns of whole milliseconds, which round to the nearest: what is due at once must not be due half a
 * millisecond later, when the next statement looks for it.
 */
export const NOW = `date_trunc('milliseconds', clock_timestamp())`;

/**
 * A column's time as a number of milliseconds: read faster than a time's text, and the same whatever the session's DateStyle and,
 * on Prisma's own pool, its time zone.
 */
export function epochMs(column: string): string {
  return `date_part('epoch', ${column}) * 1000`;
}

/** The rows of a statement, with a Date in each of these columns, of which it selects `epochMs`. */
export async function withDates<Row>(rows: PromiseLike<unknown>, ...columns: (keyof Row)[]): Promise<Row[]> {
  const read = (await rows) as Record<keyof Row, number | null>[];
  return read.map((row) => ({ ...row, ...datesOf(row, ...columns) }) as Row);
}

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
  const [{ isInRecovery, ...found }] = await db.$queryRawUnsafe<[Found]>(FIND, ...keyValues(id));
  if (isInRecovery) throw readOnlyError('the server is in recovery, and its answers may not last');
  return found.key === null ? undefined : toKeyRow(found);
}

// The principal is not asked for: the thing is done once by all of them. A thing that is held alone has no key.
const FIND_HOLDER = `
SELECT ${KEY_COLUMNS} FROM idempotency_things AS held LEFT JOIN idempotency_keys USING (tenant, principal, operation, key)
 WHERE tenant = $1 AND operation = $2 AND held.thing = $3`;

/** A key, and the thing that it is to be done once for, where its operation names one. */
type KeyWithThing = KeyId & Pick<Claim, 'thing'>;

/** `Store.findObstacle`. Errors as of `find`. */
export async function findObstacle(db: RawQueries, { thing, ...id }: KeyWithThing): Promise<Obstacle | undefined> {
  const row = await find(db, id);
  if (row) return { kind: 'existing', row };
  if (thing === undefined) return undefined;
  const [held] = await db.$queryRawUnsafe<(RawRow | { state: null })[]>(FIND_HOLDER, id.tenant, id.operation, thing);
  if (!held) return undefined;
  return held.state === null ? { kind: 'thing_done' } : { kind: 'existing', row: toKeyRow(held) };
}

const THING = `SELECT thing FROM idempotency_keys WHERE ${IS_KEY}`;

export const thingOf: Asked<Store<never>, 'thingOf'> = async (db, id) => {
  const [row] = await db.$queryRawUnsafe<{ thing: string | null }[]>(THING, ...keyValues(id));
  return row?.thing ?? null;
};

// Once per key: a client that repeats itself must not fill the table. What a call has failed with once each. Two at once may
// both get in, which harms nobody.
const RECORD_EVENT = `
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb
 WHERE NOT EXISTS (SELECT FROM idempotency_events
                    WHERE ${IS_KEY} AND type = $5 AND actor = $6 AND ($5 <> 'call_failed' OR detail = $7::jsonb))`;

/** How many keys are noted beside one that holds their thing: a client that makes up more of them must not fill the table. */
const MOST_FOLLOWERS = 100;

// On both keys, so that the reaper finds what it leaves with the other one.
const RECORD_FOLLOWER = `
WITH followed AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1::text, $2::text, $3::text, $4::text, 'followed', 'client', jsonb_build_object('principal', $5::text, 'key', $6::text)
    FROM (SELECT count(*) AS of_all, count(*) FILTER (WHERE detail ->> 'principal' = $5 AND detail ->> 'key' = $6) AS of_this
            FROM idempotency_events WHERE ${IS_KEY} AND type = 'followed') AS known
   WHERE of_this = 0 AND of_all < ${MOST_FOLLOWERS}
  RETURNING key)
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
SELECT $1::text, $5::text, $3::text, $6::text, 'answered_by', 'client', jsonb_build_object('key', key) FROM followed`;

const recordFollower: Asked<Store<never>, 'recordFollower'> = async (db, holder, { principal, key }) => {
  await db.$queryRawUnsafe(RECORD_FOLLOWER, ...keyValues(holder), principal, key);
};

// With what people did to it, which is kept apart: a timeline shows both.
const EVENTS = `
SELECT type, actor, detail, ${epochMs('at')} AS at
  FROM (SELECT id, type, actor, detail, at FROM idempotency_events
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
        UNION ALL
        SELECT id, type, actor, detail, at FROM idempotency_audit
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4) AS happened
 ORDER BY happened.at, id`;

export const recordEvent: Asked<Store<never>, 'recordEvent'> = async (db, id, event) => {
  const detail = event.detail && JSON.stringify(event.detail);
  await db.$queryRawUnsafe(RECORD_EVENT, ...keyValues(id), event.type, event.actor, detail);
};

const events: Asked<Store<never>, 'events'> = async (db, id) =>
  await withDates(db.$queryRawUnsafe(EVENTS, ...keyValues(id)), 'at');

// A yes or no, and not the row: nearly always it is as expected, and Prisma's share of reading its columns is large.
const STANDS = `
SELECT 1 FROM idempotency_keys WHERE ${IS_KEY} AND state = $5 AND result IS NOT DISTINCT FROM $6`;

/** Tells whether the committed row of a key is in this state, with this result. */
export async function isCommitted(db: RawQueries, { state, result, ...id }: KeyId & Pick<KeyRow, 'state' | 'result'>) {
  return (await countRows(db, STANDS, ...keyValues(id), state, result)) > 0;
}

/** The columns of a step, in the order of `Step`. Ages by the server's clock, so that no other clock is asked. */
export const STEP_COLUMNS = `name, position, kind, idempotency_phases.state, result,
  idempotency_phases.fencing_token AS "fencingToken", arguments, derived_key AS "derivedKey", sends,
  not_executed AS "notExecuted",
  extract(epoch FROM clock_timestamp() - first_sent_at)::float8 * 1000 AS "sinceFirstSentMs",
  extract(epoch FROM clock_timestamp() - last_sent_at)::float8 * 1000 AS "sinceLastSentMs",
  extract(epoch FROM keys_until - clock_timestamp())::float8 * 1000 AS "rememberedForMs",
  ${epochMs('first_sent_at')} AS "firstSentAt", ${epochMs('finished_at')} AS "finishedAt", verdict, reference, amount,
  known_by AS "knownBy"`;

const STEPS = `
SELECT ${STEP_COLUMNS} FROM idempotency_phases
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
 ORDER BY position`;

export const findSteps: Asked<Leases<never>, 'steps'> = async (db, id) =>
  await readSteps(db.$queryRawUnsafe(STEPS, ...keyValues(id)));

/** The steps that a statement returns. */
export const readSteps = (rows: PromiseLike<unknown>) => withDates<Step>(rows, 'firstSentAt', 'finishedAt');

export const readQuestions = { recordEvent, recordFollower, events, steps: findSteps };
