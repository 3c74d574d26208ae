import type { LostKeys, LostStep } from '../../lost-keys.ts';
import { type Asked, askingBy, type Db } from '../db.ts';
import { isOfState } from '../errors.ts';
import { findAnnouncedIn, findKnown } from '../messages/outbox.ts';
import { holdThing, thingValues } from './claim.ts';
import { FIRST_TOKEN } from './complete.ts';
import { AUDIT, record } from './operate.ts';
import { find, NOW } from './read.ts';
import { ticketOf, tryBoth } from './ticket.ts';

/** `LostKeys`, on the connections of the store beside it. */
export function lostKeysOn<Tx>(db: Db): LostKeys<Tx> {
  return {
    ...askingBy(db)({ enterLost, knownEvents: findKnown }),
    announcedIn: (tx) => findAnnouncedIn(db.queriesOn(tx)),
    recordIn: (tx, act) => record(db.queriesOn(tx), act),
  };
}

// A thing that another key holds by now stays that one's. An answer is entered all the same, without the thing, so that a
// retry is answered. A key that would be gone on with is not entered: it would do once more what the other key has done.
const IS_FREE = `NOT EXISTS (
           SELECT FROM idempotency_things
            WHERE tenant = $1::varchar AND operation = $3::varchar AND thing = $16::text)`;

// The same insert against the same unique index as a claim, and one statement, so that a crash leaves all of it or nothing.
// From its COMMIT on, a retry of the key meets a row, and a completer goes on with it. The window is not asked: the key was
// executed when it was young, and only a row can say so.
//
// The tickets, of the key and of its thing, prevent this: a late retry executes the key, and its transaction fails at its end
// because a row has come. They are tried once, for whoever reconciles can look again.
//
// A call that may have been done counts as sent at the earliest time at which it can have been, from which the provider's
// memory of its key is reckoned, and as sent at the latest now: "absent" may mean "not yet" for a while.
const enter = (drawn: string, ofThing = false) => `
WITH ticket AS MATERIALIZED (SELECT ${drawn} AS drawn),
entered AS (
  INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id, schema_version,
                                claimed_at, expires_at, input, lease_until, next_attempt_at, result, settled_at${ofThing ? ', thing' : ''})
  SELECT $1, $2, $3, $4, CASE WHEN $12::text IS NULL THEN 'in_progress' ELSE 'succeeded' END, $6::bytea, $7::smallint, $8,
         $9::int, clock_timestamp(), clock_timestamp() + $10::float8 * interval '1 ms', $11::bytea,
         CASE WHEN $12::text IS NULL THEN ${NOW} END, CASE WHEN $12::text IS NULL THEN ${NOW} END, $12::text,
         CASE WHEN $12::text IS NOT NULL THEN clock_timestamp() END${ofThing ? `, (SELECT $16::text WHERE ${IS_FREE})` : ''}
    FROM ticket WHERE drawn${ofThing ? ` AND ($12::text IS NOT NULL OR ${IS_FREE})` : ''}
  ON CONFLICT (tenant, principal, operation, key) DO NOTHING
  RETURNING ${ofThing ? 'thing' : '1'}),${ofThing ? `\nheld AS (${holdThing(['thing', '$17'], ' FROM entered WHERE thing IS NOT NULL')}),` : ''}
steps AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, result, arguments,
                                  derived_key, fencing_token, sends, first_sent_at, keys_until, last_sent_at, finished_at)
  SELECT $1, $2, $3, $4, s.name, s.position, s.kind, CASE WHEN s.result IS NULL THEN 'started' ELSE 'done' END, s.result,
         decode(s.arguments, 'hex'), s."derivedKey", ${FIRST_TOKEN}, CASE s.kind WHEN 'foreign' THEN 1 ELSE 0 END,
         sent, sent + nullif(s."providerKeyTtlMs", 0) * interval '1 ms',
         CASE s.kind WHEN 'foreign' THEN clock_timestamp() END,
         CASE WHEN s.result IS NOT NULL THEN clock_timestamp() END
    FROM entered,
         json_to_recordset($13::json) AS s (name text, position int, kind text, result text, arguments text,
                                            "derivedKey" text, "notBefore" timestamptz, "providerKeyTtlMs" float8),
         LATERAL (SELECT CASE s.kind WHEN 'foreign' THEN coalesce(s."notBefore", 'epoch') END AS sent) AS earliest),
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'reconciled', $14::text, $15::jsonb FROM entered)
SELECT drawn, EXISTS (SELECT FROM entered) AS entered FROM ticket`;

// Names no thing, so that tables of version 3 do. A loss of the arbiter, the key's index, is an error.
const ENTER = enter('pg_try_advisory_xact_lock($5::bigint)');
// The key first, so that none is held by a key that was not entered. Where another key has taken the thing since the statement
// began, it fails.
const ENTER_WITH_THING = enter(tryBoth('$5', '$18'), true);

const enterLost: Asked<LostKeys<never>, 'enterLost'> = async (db, lost, by) => {
  const { tenant, principal, operation, key, fingerprint, schemaVersion, retentionMs, thing, is } = lost;
  const { input, steps, result } = { input: null, steps: [], result: null, ...is };
  const values: unknown[] = [tenant, principal, operation, key, ticketOf(lost)];
  values.push(fingerprint?.hash ?? null, fingerprint?.version ?? null, fingerprint?.secretId ?? null);
  values.push(schemaVersion, retentionMs, input, result, JSON.stringify(steps.map(inJson)));
  values.push(by.actor, JSON.stringify(by.detail));
  if (thing !== undefined) values.push(...thingValues(lost, thing));
  const statement = thing === undefined ? ENTER : ENTER_WITH_THING;
  const row = await db.$queryRawUnsafe<Entry[]>(statement, ...values).then(([first]) => first, takenMeanwhile);
  if (row?.entered) return 'entered';
  if (!row?.drawn) return 'locked';
  if (await find(db, lost)) return 'existing';
  return thing !== undefined && 'input' in is ? 'held' : 'locked';
};

type Entry = { drawn: boolean; entered: boolean };

/** Nothing was entered: whoever enters keys is to look again. */
function takenMeanwhile(error: unknown): undefined {
  if (!isOfState('23505')(error)) throw error;
}

const inJson = (step: LostStep) =>
  step.kind === 'foreign' ? { ...step, arguments: Buffer.from(step.arguments).toString('hex') } : step;
