import type { Erased, ErasedKeys, Operated, Person, SeenRow } from '../../oversight.ts';
import type { PrismaClientLike, RawQueries } from '../client.ts';
import { ERASE_MS } from '../timeouts.ts';
import { AUDIT } from './audit.ts';
import { IS_KEY } from './row.ts';
import { UNFINISHED_KEYS } from './stuck.ts';

const HAS_ANSWER = `state IN ('succeeded', 'failed') AND result IS NOT NULL`;

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
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'forgotten', $6::text, NULL FROM forgotten)
SELECT CASE WHEN EXISTS (SELECT FROM forgotten) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen WHERE NOT is_answered) THEN 'refused'
            ELSE 'changed' END AS operated`;

// No index knows principals: each would be an entry more for every key. It is asked for seldom.
const ERASE = `
WITH forgotten AS (
  UPDATE idempotency_keys SET result = NULL
   WHERE tenant = $1 AND principal = ANY ($2::text[]) AND ${HAS_ANSWER}
  RETURNING principal, operation, key),
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = NULL
    FROM forgotten
   WHERE tenant = $1 AND idempotency_phases.principal = forgotten.principal
     AND idempotency_phases.operation = forgotten.operation AND idempotency_phases.key = forgotten.key),
audited AS (
  ${AUDIT}
  SELECT $1::text, principal, operation, key, 'forgotten', $3::text, '{"with": "principal"}'::jsonb FROM forgotten)
SELECT (SELECT count(*) FROM forgotten)::float8 AS forgotten,
       (SELECT count(*) FROM ${UNFINISHED_KEYS}
         WHERE tenant = $1 AND principal = ANY ($2::text[]))::float8 AS unsettled,
       to_regclass('outbox_events') IS NOT NULL AS "hasMessages"`;

// One record for each of the person's names, whether anything was stored under it or not.
const RECORD_ERASED = `
${AUDIT}
SELECT $1::text, name, '', '', 'erased', $3::text, $4::jsonb FROM unnest($2::text[]) AS name`;

/** `Oversight.forget`. */
export async function forget(db: RawQueries, id: SeenRow, actor: string): Promise<Operated> {
  const { tenant, principal, operation, key, fencingToken } = id;
  const values = [tenant, principal, operation, key, fencingToken, actor];
  const [row] = await db.$queryRawUnsafe<[{ operated: Operated }]>(FORGET, ...values);
  return row.operated;
}

/** `Oversight.erasePrincipal`. */
export async function erasePrincipal(
  client: PrismaClientLike,
  { tenant, names }: Person,
  actor: string,
  conclude: (keys: ErasedKeys, tx: unknown) => Promise<Erased>,
): Promise<Erased> {
  return await client.$transaction(
    async (tx: RawQueries) => {
      const [keys] = await tx.$queryRawUnsafe<[ErasedKeys]>(ERASE, tenant, names, actor);
      const erased = await conclude(keys, tx);
      await tx.$queryRawUnsafe(RECORD_ERASED, tenant, names, actor, JSON.stringify(detailOf(names, erased)));
      return erased;
    },
    { timeout: ERASE_MS, isolationLevel: 'ReadCommitted' },
  );
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
