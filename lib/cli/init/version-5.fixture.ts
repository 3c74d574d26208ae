/** The statements that a kit of version 5 sends for a key with a thing, to the letter. */
export const VERSION_5 = {
  DRAW_BOTH: `
SELECT set_config('oncekit.ticket', CASE WHEN CASE WHEN pg_try_advisory_xact_lock($1::bigint) THEN pg_try_advisory_xact_lock($2::bigint) ELSE false END THEN 'drawn' ELSE '' END, true)`,
  LOOK_FOR_THING: `
SELECT current_setting('oncekit.ticket') = 'drawn'
       AND NOT EXISTS (SELECT FROM idempotency_keys WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4)
       AND NOT EXISTS (SELECT FROM idempotency_keys WHERE tenant = $1 AND operation = $3 AND thing = $8)
       AND ($5::timestamptz IS NULL
        OR ($5::timestamptz > clock_timestamp() - $6::float8 * interval '1 ms'
            AND $5::timestamptz <= clock_timestamp() + interval '5 min')) AS "isFree",
       current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       date_part('epoch', clock_timestamp()) * 1000 AS "claimedAtMs",
       set_config('idle_in_transaction_session_timeout', $7, true) AS idle`,
  WRITE: `
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, settled_at, expires_at, trace_parent, result,
                              fencing_token, thing)
VALUES ($1, $2, $3, $4, $5, $6::bytea, $7::smallint, $8, $9::int, $10::timestamptz, $11::timestamptz,
        greatest(clock_timestamp(), $11::timestamptz), $12::timestamptz, $13, $14,
        CASE WHEN current_setting('oncekit.ticket', true) = 'drawn' THEN '1' ELSE 'no ticket' END::int, $15)
RETURNING date_part('epoch', settled_at) * 1000 AS "settledAtMs"`,
  CLAIM_WAITING: `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $17, true) FROM before),
     ticket AS MATERIALIZED (SELECT CASE WHEN (CASE WHEN true::boolean THEN pg_advisory_xact_lock($12::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock($12::bigint) END) THEN (CASE WHEN true::boolean THEN pg_advisory_xact_lock($16::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock($16::bigint) END) ELSE false END AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, trace_parent, thing)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms', $14, $15
  FROM ticket
 WHERE drawn
   AND ($9::timestamptz IS NULL
        OR ($9::timestamptz > clock_timestamp() - $10::float8 * interval '1 ms'
            AND $9::timestamptz <= clock_timestamp() + interval '5 min'))
ON CONFLICT DO NOTHING
RETURNING date_part('epoch', claimed_at) * 1000 AS "claimedAtMs", date_part('epoch', expires_at) * 1000 AS "expiresAtMs",
          set_config('idle_in_transaction_session_timeout', $13, true) AS idle, current_setting('transaction_isolation') AS level,
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`,
  COMPLETE: `
UPDATE idempotency_keys SET state = $6, result = $7, settled_at = clock_timestamp()
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'in_progress' AND fencing_token = $5::int
RETURNING date_part('epoch', settled_at) * 1000 AS "settledAtMs"`,
  BEGIN: `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $15, true) FROM before),
     ticket AS MATERIALIZED (SELECT CASE WHEN (CASE WHEN $16::boolean THEN pg_advisory_xact_lock($12::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock($12::bigint) END) THEN (CASE WHEN $16::boolean THEN pg_advisory_xact_lock($21::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock($21::bigint) END) ELSE false END AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, trace_parent, lease_until, next_attempt_at, input, fencing_token, thing)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms', $14,
       clock_timestamp() + $17::float8 * interval '1 ms', clock_timestamp() + $17::float8 * interval '1 ms', $18::bytea,
       $19::int, $20
  FROM ticket
 WHERE drawn
   AND ($9::timestamptz IS NULL
        OR ($9::timestamptz > clock_timestamp() - $10::float8 * interval '1 ms'
            AND $9::timestamptz <= clock_timestamp() + interval '5 min'))
ON CONFLICT DO NOTHING
RETURNING date_part('epoch', claimed_at) * 1000 AS "claimedAtMs", date_part('epoch', expires_at) * 1000 AS "expiresAtMs",
          set_config('idle_in_transaction_session_timeout', $13, true) AS idle, current_setting('transaction_isolation') AS level,
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`,
  FIND_HOLDER: `
SELECT tenant, principal, operation, key, state, fencing_token AS "fencingToken", attempts, fingerprint,
  fingerprint_version AS "fingerprintVersion", secret_id AS "secretId", result, schema_version AS "schemaVersion",
  date_part('epoch', minted_at) * 1000 AS "mintedAt", date_part('epoch', claimed_at) * 1000 AS "claimedAt", date_part('epoch', settled_at) * 1000 AS "settledAt",
  date_part('epoch', expires_at) * 1000 AS "expiresAt", date_part('epoch', lease_until) * 1000 AS "leaseUntil",
  date_part('epoch', next_attempt_at) * 1000 AS "nextAttemptAt", recovery_point AS "recoveryPoint", needs_attention AS "needsAttention",
  trace_parent AS "traceParent" FROM idempotency_keys WHERE tenant = $1 AND operation = $2 AND thing = $3`,
};
