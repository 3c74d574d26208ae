import { parseKey } from '../../../core/key.ts';
import type { KeyId } from '../../../core/scope.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Step } from '../../leases.ts';
import type { Claim, KeyRow } from '../../rows.ts';
import type { KeyEvent } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { readOnlyError } from '../errors.ts';

/** The columns of a key row, in the order of `KeyRow`. */
export const KEY_COLUMNS = `tenant, principal, operation, key, state, fencing_token, attempts, fingerprint,
  fingerprint_version, secret_id, result, schema_version, ${epochMs('minted_at')} AS minted_ms,
  ${epochMs('claimed_at')} AS claimed_ms, ${epochMs('settled_at')} AS settled_ms, ${epochMs('expires_at')} AS expires_ms,
  ${epochMs('lease_until')} AS lease_ms, ${epochMs('next_attempt_at')} AS next_attempt_ms, recovery_point, needs_attention,
  trace_parent`;

/** The row of one key: parameters 1 to 4. */
export const IS_KEY = 'tenant = $1 AND principal = $2 AND operation = $3 AND key = $4';

/** The values of these parameters. */
export function keyValues({ tenant, principal, operation, key }: KeyId): [string, string, string, string] {
  return [tenant, principal, operation, key];
}

/** A row as the driver gives it. */
export interface RawRow {
  tenant: string;
  principal: string;
  operation: string;
  key: string;
  state: KeyRow['state'];
  fencing_token: number;
  attempts: number;
  fingerprint: Uint8Array | null;
  fingerprint_version: number | null;
  secret_id: string | null;
  result: string | null;
  schema_version: number;
  minted_ms: number | null;
  claimed_ms: number;
  settled_ms: number | null;
  expires_ms: number;
  lease_ms: number | null;
  next_attempt_ms: number | null;
  recovery_point: string | null;
  needs_attention: boolean;
  trace_parent: string | null;
}

export function toKeyRow(raw: RawRow): KeyRow {
  const { fingerprint, fingerprint_version: version, secret_id: secretId } = raw;
  return {
    tenant: raw.tenant,
    principal: raw.principal,
    operation: raw.operation,
    key: raw.key,
    state: raw.state,
    fencingToken: raw.fencing_token,
    attempts: raw.attempts,
    fingerprint:
      fingerprint === null || version === null || secretId === null ? null : { hash: fingerprint, version, secretId },
    result: raw.result,
    schemaVersion: raw.schema_version,
    mintedAt: mintedAtOf(raw),
    claimedAt: dateOf(raw.claimed_ms),
    settledAt: raw.settled_ms === null ? null : dateOf(raw.settled_ms),
    expiresAt: dateOf(raw.expires_ms),
    leaseUntil: raw.lease_ms === null ? null : dateOf(raw.lease_ms),
    nextAttemptAt: raw.next_attempt_ms === null ? null : dateOf(raw.next_attempt_ms),
    recoveryPoint: raw.recovery_point,
    needsAttention: raw.needs_attention,
    traceParent: raw.trace_parent,
  };
}

/** When a row's key was minted; null for one that was not minted here. */
export function mintedAtOf(row: Pick<RawRow, 'key' | 'secret_id' | 'minted_ms'>): Date | null {
  return row.minted_ms === null ? signedAt(row.key, row.secret_id) : dateOf(row.minted_ms);
}

const dateOf = (ms: number) => new Date(Math.round(ms));

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
  const [found] = await db.$queryRawUnsafe<[Found]>(FIND, ...keyValues(id));
  if (found.isInRecovery) throw readOnlyError('the server is in recovery, and its answers may not last');
  return found.key === null ? undefined : toKeyRow(found);
}

// The principal is not asked for: the thing is done once by all of them.
const FIND_HOLDER = `
SELECT ${KEY_COLUMNS} FROM idempotency_keys WHERE tenant = $1 AND operation = $2 AND thing = $3`;

/** A key, and the thing that it is to be done once for, where its operation names one. */
type KeyWithThing = KeyId & Pick<Claim, 'thing'>;

/** The committed row of the key; where there is none, the one that holds its thing. Errors as of `find`. */
export async function findDeciding(db: RawQueries, { thing, ...id }: KeyWithThing): Promise<KeyRow | undefined> {
  const row = await find(db, id);
  if (row || thing === undefined) return row;
  const [holder] = await db.$queryRawUnsafe<RawRow[]>(FIND_HOLDER, id.tenant, id.operation, thing);
  return holder && toKeyRow(holder);
}

const THING = `SELECT thing FROM idempotency_keys WHERE ${IS_KEY}`;

/** `Store.thingOf`. */
export async function thingOf(db: RawQueries, id: KeyId): Promise<string | null> {
  const [row] = await db.$queryRawUnsafe<{ thing: string | null }[]>(THING, ...keyValues(id));
  return row?.thing ?? null;
}

// Once per key: a client that repeats itself must not fill the table. Two at once may both get in, which harms nobody.
const RECORD_EVENT = `
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb
 WHERE NOT EXISTS (SELECT FROM idempotency_events
                    WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND type = $5 AND actor = $6)`;

// With what people did to it, which is kept apart: a timeline shows both.
const EVENTS = `
SELECT type, actor, detail, at
  FROM (SELECT id, type, actor, detail, at FROM idempotency_events
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
        UNION ALL
        SELECT id, type, actor, detail, at FROM idempotency_audit
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4) AS happened
 ORDER BY at, id`;

export async function recordEvent(db: RawQueries, id: KeyId, event: Omit<KeyEvent, 'at'>): Promise<void> {
  const detail = event.detail && JSON.stringify(event.detail);
  await db.$queryRawUnsafe(RECORD_EVENT, ...keyValues(id), event.type, event.actor, detail);
}

export async function findEvents(db: RawQueries, id: KeyId): Promise<KeyEvent[]> {
  return await db.$queryRawUnsafe<KeyEvent[]>(EVENTS, ...keyValues(id));
}

// A yes or no, and not the row: nearly always it is as expected, and Prisma's share of reading its columns is large.
const STANDS = `
SELECT 1 FROM idempotency_keys WHERE ${IS_KEY} AND state = $5 AND result IS NOT DISTINCT FROM $6`;

/** Tells whether the committed row of a key is in this state, with this result. */
export async function isCommitted(db: RawQueries, { state, result, ...id }: KeyId & Pick<KeyRow, 'state' | 'result'>) {
  const rows = await db.$queryRawUnsafe<unknown[]>(STANDS, ...keyValues(id), state, result);
  return rows.length > 0;
}

/** The columns of a step, in the order of `Step`. Ages by the server's clock, so that no other clock is asked. */
export const STEP_COLUMNS = `name, position, kind, idempotency_phases.state, result,
  idempotency_phases.fencing_token AS "fencingToken", arguments, derived_key AS "derivedKey", sends,
  not_executed AS "notExecuted",
  extract(epoch FROM clock_timestamp() - first_sent_at)::float8 * 1000 AS "sinceFirstSentMs",
  extract(epoch FROM clock_timestamp() - last_sent_at)::float8 * 1000 AS "sinceLastSentMs",
  extract(epoch FROM keys_until - clock_timestamp())::float8 * 1000 AS "rememberedForMs",
  first_sent_at AS "firstSentAt", finished_at AS "finishedAt", verdict, reference`;

const STEPS = `
SELECT ${STEP_COLUMNS} FROM idempotency_phases
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
 ORDER BY position`;

/** The steps of a key, in their order. */
export async function findSteps(db: RawQueries, id: KeyId): Promise<Step[]> {
  return await db.$queryRawUnsafe<Step[]>(STEPS, ...keyValues(id));
}

const HAS_STEP = `
SELECT 1 FROM idempotency_phases WHERE ${IS_KEY} AND name = $5`;

/** Tells whether a step is stored under this name. */
export async function hasStep(db: RawQueries, id: KeyId, name: string) {
  const rows = await db.$queryRawUnsafe<unknown[]>(HAS_STEP, ...keyValues(id), name);
  return rows.length > 0;
}
