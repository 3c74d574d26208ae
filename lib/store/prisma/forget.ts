import type { Principal } from '../../core/scope.ts';
import type { Erased, Operated, SeenRow } from '../oversight.ts';
import type { RawQueries } from './client.ts';
import { IS_KEY } from './row.ts';
import { IS_OPEN } from './stuck.ts';

const HAS_ANSWER = `state IN ('succeeded', 'failed') AND result IS NOT NULL`;
const EVENT = 'INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)';

// The state is named, so that what an unfinished key needs to go on is never erased. And that there is something left to
// erase: of two clicks, the second waits for the first, looks at the row again, and finds nothing. State, token and times
// stay: the row is what keeps the intent from being executed again. Steps have been erased when the key settled; here
// once more, in case that an older version left anything.
const FORGET = `
WITH seen AS MATERIALIZED (
  SELECT state IN ('succeeded', 'failed') AS is_answered FROM idempotency_keys
   WHERE ${IS_KEY} AND fencing_token = $5::int),
forgotten AS (
  UPDATE idempotency_keys SET result = NULL
   WHERE ${IS_KEY} AND fencing_token = $5::int AND ${HAS_ANSWER}
  RETURNING 1),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL
   WHERE ${IS_KEY} AND EXISTS (SELECT FROM forgotten)),
noted AS (
  ${EVENT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'forgotten', $6::text, NULL FROM forgotten)
SELECT CASE WHEN EXISTS (SELECT FROM forgotten) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen WHERE NOT is_answered) THEN 'refused'
            ELSE 'changed' END AS operated`;

// No index knows principals: each would be an entry more for every key. It is asked for seldom.
const ERASE = `
WITH forgotten AS (
  UPDATE idempotency_keys SET result = NULL
   WHERE tenant = $1 AND principal = $2 AND ${HAS_ANSWER}
  RETURNING operation, key),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL
    FROM forgotten
   WHERE tenant = $1 AND principal = $2 AND idempotency_phases.operation = forgotten.operation
     AND idempotency_phases.key = forgotten.key),
noted AS (
  ${EVENT}
  SELECT $1::text, $2::text, operation, key, 'forgotten', $3::text, '{"with": "principal"}'::jsonb FROM forgotten)
SELECT (SELECT count(*) FROM forgotten)::float8 AS forgotten,
       (SELECT count(*) FROM idempotency_keys
         WHERE ${IS_OPEN} AND tenant = $1 AND principal = $2 AND state IN ('in_progress', 'unknown'))::float8 AS unsettled`;

/** `Oversight.forget`. */
export async function forget(db: RawQueries, id: SeenRow, actor: string): Promise<Operated> {
  const { tenant, principal, operation, key, fencingToken } = id;
  const values = [tenant, principal, operation, key, fencingToken, actor];
  const [row] = await db.$queryRawUnsafe<[{ operated: Operated }]>(FORGET, ...values);
  return row.operated;
}

/** `Oversight.erasePrincipal`. */
export async function erasePrincipal(
  db: RawQueries,
  { tenant, principal }: Pick<Principal, 'tenant' | 'principal'>,
  actor: string,
): Promise<Erased> {
  const [row] = await db.$queryRawUnsafe<[Erased]>(ERASE, tenant, principal, actor);
  return row;
}
