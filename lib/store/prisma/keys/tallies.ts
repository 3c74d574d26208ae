import type { DatabaseFacts, Oversight, Timeline } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { timestamp } from '../wire/encoding.ts';
import { epochMs, withDates } from './read.ts';

/** Ten minutes by the server's clock, so that all processes mean the same ones. */
const BUCKET = 'to_timestamp(floor(extract(epoch FROM statement_timestamp()) / 600) * 600)';

// In one order for everybody: two processes that each held a row which the other one wants next would be a deadlock.
const ADD = `
INSERT INTO idempotency_tallies (bucket, operation, outcome, count)
SELECT ${BUCKET}, operation, outcome, count
  FROM json_to_recordset($1::json) AS counted(operation text, outcome text, count int)
 ORDER BY operation, outcome
ON CONFLICT (bucket, operation, outcome) DO UPDATE SET count = idempotency_tallies.count + EXCLUDED.count`;

const TALLIES = `
SELECT ${epochMs('bucket')} AS at, operation, outcome, count::float8 AS count FROM idempotency_tallies
 WHERE bucket > $1::timestamptz - interval '10 min' AND outcome <> 'timeline'
 ORDER BY bucket, operation, outcome`;

const REAP = `DELETE FROM idempotency_tallies WHERE bucket < statement_timestamp() - interval '30 days'`;

// Of each key one row for each way, whatever comes: what is there is taken out, and put in again with what is added, since the
// kit needs no right to change an event. Two of a kind, from two processes at once, are made one the next time.
//
// One process at a time: two that each held a row which the other one wants next would be a deadlock. A key that the reaper holds
// is passed over, and the reaper passes over those that are held here; it cannot see what is written behind its beginning, so a key
// that it may take within a minute is passed over, too. So no event stays behind its key. The lock keeps a key from being deleted;
// nobody waits for it but a call that runs a key again whose answer is too old to be read, as long as this statement takes.
const ADD_REPEATS = `
WITH turn AS MATERIALIZED (
  SELECT pg_advisory_xact_lock(1868788331, 1), statement_timestamp() - $2::float8 * interval '1 ms' AS origin),
counted AS MATERIALIZED (
  SELECT tenant, principal, operation, key, more.type, origin + "firstAt" * interval '1 ms' AS at, count,
         to_char((origin + "lastAt" * interval '1 ms') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last,
         NULL AS fingerprint
    FROM turn CROSS JOIN json_to_recordset($1::json) AS more(
           tenant text, principal text, operation text, key text, type text, count int, "firstAt" float8, "lastAt" float8)
    JOIN idempotency_keys AS known USING (tenant, principal, operation, key)
   WHERE expires_at > clock_timestamp() + interval '1 min' OR settled_at IS NULL OR needs_attention
     FOR KEY SHARE OF known SKIP LOCKED),
before AS (
  DELETE FROM idempotency_events
   WHERE (tenant, principal, operation, key, type) IN (SELECT tenant, principal, operation, key, type FROM counted)
     AND actor = 'client'
  RETURNING *)
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, at, detail)
SELECT tenant, principal, operation, key, type, 'client', min(at), jsonb_strip_nulls(jsonb_build_object(
         'fingerprint', min(fingerprint), 'times', sum(count)::text, 'last', max(last)))
  FROM (SELECT * FROM counted UNION ALL
        SELECT tenant, principal, operation, key, type, at, coalesce((detail ->> 'times')::bigint, 0), detail ->> 'last',
               detail ->> 'fingerprint' FROM before) AS told
 GROUP BY tenant, principal, operation, key, type`;

export const addTallies: Asked<Oversight, 'addTallies'> = async (db, counts, repeats = []) => {
  await db.$queryRawUnsafe(ADD, JSON.stringify(counts));
  // Lost where it fails: the counts above would be added once more.
  if (repeats.length > 0) {
    await db.$queryRawUnsafe(ADD_REPEATS, JSON.stringify(repeats), performance.now()).then(undefined, () => {});
  }
  await recordTimeline(db);
};

const tallies: Asked<Oversight, 'tallies'> = async (db, since) =>
  await withDates(db.$queryRawUnsafe(TALLIES, timestamp(since)), 'at');

export const reapTallies: Asked<Oversight, 'reapTallies'> = async (db) => await db.$queryRawUnsafe(REAP);

// Every role may read all of it, but for how a standby replicates: that is null without pg_read_all_stats. Subscribers of a
// logical slot are no standbys.
const FACTS = `
SELECT version() AS version, current_setting('server_version') AS "serverVersion",
       EXISTS (SELECT FROM pg_proc WHERE proname = 'aurora_version') AS "isAurora",
       EXISTS (SELECT FROM pg_settings WHERE name LIKE 'neon.%') AS "isNeon",
       EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS "isCitus",
       pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       current_setting('fsync') = 'on' AS "hasFsync", current_setting('synchronous_commit') AS "synchronousCommit",
       current_setting('synchronous_standby_names') AS "standbyNames",
       count(sender.pid)::int AS standbys,
       CASE WHEN bool_and(sync_state IS NOT NULL) IS NOT FALSE
            THEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::int END AS "synchronousStandbys"
  FROM (VALUES (1)) AS one
  LEFT JOIN pg_stat_replication AS sender
    ON sender.pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`;

// Beside the counts, which are kept for as long: a promotion and a restore begin a timeline, and no table says so.
const SEEN = `
INSERT INTO idempotency_tallies (bucket, operation, outcome, count)
SELECT ${BUCKET}, left(pg_walfile_name(pg_current_wal_lsn()), 8), 'timeline', 1
ON CONFLICT (bucket, operation, outcome) DO NOTHING`;

const TIMELINES = `
SELECT operation AS name, ${epochMs('min(bucket)')} AS "firstSeenAt",
       ${epochMs("max(bucket) + interval '10 min'")} AS "lastSeenAt"
  FROM idempotency_tallies WHERE outcome = 'timeline'
 GROUP BY operation ORDER BY max(bucket), operation`;

type RawFacts = Omit<DatabaseFacts, 'engine' | 'timelines'> &
  Record<'version' | 'serverVersion', string> &
  Record<'isAurora' | 'isNeon' | 'isCitus', boolean>;

/** `name`: in hexadecimal digits, as in the names of WAL files. */
type RawTimeline = Omit<Timeline, 'number'> & { name: string };

export const databaseFacts: Asked<Oversight, 'databaseFacts'> = async (db) => {
  const [facts] = await db.$queryRawUnsafe<[RawFacts]>(FACTS);
  const timelines = await withDates<RawTimeline>(db.$queryRawUnsafe(TIMELINES), 'firstSeenAt', 'lastSeenAt');
  const { version, serverVersion, isAurora, isNeon, isCitus, ...rest } = facts;
  return {
    ...rest,
    engine: engineOf(facts),
    timelines: timelines.map(({ name, ...seen }) => ({ number: Number.parseInt(name, 16), ...seen })),
  };
};

/** Its name and version, as its makers write them. */
function engineOf({ version, serverVersion, isAurora, isNeon, isCitus }: RawFacts): string {
  const number = serverVersion.split(' ')[0];
  const cockroach = /CockroachDB\D*(\S+)/.exec(version);
  if (cockroach) return `CockroachDB ${cockroach[1]}`;
  const yugabyte = /-YB-([\d.]+)/.exec(version);
  if (yugabyte) return `YugabyteDB ${yugabyte[1]}`;
  if (isAurora) return `Aurora PostgreSQL ${number}`;
  if (isNeon) return `Neon, PostgreSQL ${number}`;
  return isCitus ? `Citus on PostgreSQL ${number}` : `PostgreSQL ${number}`;
}

/** When this process last wrote its timeline down, by `performance.now()`. */
let seenAt = Number.NEGATIVE_INFINITY;

/** Writes down on which timeline keys are written, once in ten minutes. Never rejects: engines without timelines refuse it. */
export async function recordTimeline(db: RawQueries, everyMs = 600_000): Promise<void> {
  if (performance.now() - seenAt < everyMs) return;
  seenAt = performance.now();
  await Promise.resolve(db.$queryRawUnsafe(SEEN)).catch(() => {});
}

export const tallyQuestions = { tallies, databaseFacts };
