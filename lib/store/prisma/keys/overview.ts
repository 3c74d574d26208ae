import type { KeyState } from '../../../core/key-state.ts';
import type { Leases } from '../../leases.ts';
import type { Overview } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { isStuck, OPEN_KEYS } from './list.ts';
import { epochMs, withDates } from './read.ts';

/** From how many rows on a count of what is settled is used again for some seconds: 100,000 take some 30 ms. */
const USED_AGAIN = 20_000;
const KEEP_MS = 10_000;
/** From how many rows on it is estimated, from a sample of as many as ANALYZE looks at. */
const ESTIMATED = 1_000_000;
const SAMPLED = 30_000;

/** True of the rows of a tenant, or of all where the parameter is NULL. */
const isOf = (tenant: string) => `(${tenant}::text IS NULL OR tenant = ${tenant})`;

const ABOUT = `
SELECT greatest(reltuples, 0)::float8 AS expected, open.*, prevented.*,
       (pg_total_relation_size(pg_class.oid)
        + (SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_partition_tree(pg_class.oid)))::float8 AS bytes
  FROM pg_class,
       (SELECT count(*) FILTER (WHERE state = 'in_progress')::float8 AS in_progress,
               count(*) FILTER (WHERE state = 'unknown')::float8 AS unknown,
               count(*) FILTER (WHERE ${isStuck('$1')})::float8 AS stuck,
               ${epochMs("min(claimed_at) FILTER (WHERE state = 'in_progress')")} AS oldest
          FROM ${OPEN_KEYS}
         WHERE ${isOf('$2')}) AS open,
       (SELECT coalesce(sum(count), 0)::float8 AS prevented
          FROM idempotency_tallies
         WHERE outcome = 'replayed' AND bucket > statement_timestamp() - interval '30 days') AS prevented
 WHERE pg_class.oid = 'idempotency_keys'::regclass`;

const COUNT = `
SELECT state, count(*)::float8 AS count FROM idempotency_keys
 WHERE settled_at IS NOT NULL AND ${isOf('$1')} GROUP BY state`;

/** From the rows of some pages, the same ones each time. `$2`: how many rows there are; `$3`: how many pages of a hundred. */
const ESTIMATE = `
SELECT state, round($2::float8 * count(*) FILTER (WHERE settled_at IS NOT NULL AND ${isOf('$1')})
                    / sum(count(*)) OVER ())::float8 AS count
  FROM idempotency_keys TABLESAMPLE SYSTEM ($3::float4) REPEATABLE (1) GROUP BY state`;

type AboutNumbers = 'expected' | 'bytes' | 'in_progress' | 'unknown' | 'stuck' | 'prevented';
type About = Record<AboutNumbers, number> & { oldest: Date | null };

type Counts = { state: KeyState; count: number }[];

/** The last count of a store: however many look, and however often, the table is read once in ten seconds. */
export interface CountCache {
  last?: { ofOne: string | null; settled: Counts; at: number };
}

/** `Oversight.overview`. */
export async function overview(
  db: RawQueries,
  stuckAfterMs: number,
  tenant: string | undefined,
  { counted = {} as CountCache, usedAgain = USED_AGAIN, estimated = ESTIMATED, sampled = SAMPLED } = {},
): Promise<Overview> {
  const ofOne = tenant ?? null;
  const [about] = (await withDates(db.$queryRawUnsafe(ABOUT, stuckAfterMs, ofOne), 'oldest')) as [About];
  const isEstimated = about.expected >= estimated; // not before the first ANALYZE
  const settled = isEstimated
    ? await db.$queryRawUnsafe<Counts>(ESTIMATE, ofOne, about.expected, (100 * sampled) / about.expected)
    : await count(db, ofOne, counted, about.expected >= usedAgain);
  const open = (['in_progress', 'unknown'] as const).map((state) => ({ state, count: about[state] }));
  const all = [...open, ...settled].filter(({ count }) => count > 0);
  return {
    counts: Object.fromEntries(all.map(({ state, count }) => [state, count])),
    isEstimated,
    stuck: about.stuck,
    oldestInProgressAt: about.oldest,
    duplicatesPrevented: ofOne === null ? about.prevented : null,
    storage: ofOne === null ? { rows: all.reduce((sum, { count }) => sum + count, 0), bytes: about.bytes } : null,
  };
}

async function count(db: RawQueries, ofOne: string | null, counted: CountCache, mayUseAgain: boolean): Promise<Counts> {
  const known = mayUseAgain && counted.last?.ofOne === ofOne ? counted.last : undefined;
  if (known && performance.now() - known.at < KEEP_MS) return known.settled;
  const at = performance.now();
  const settled = await db.$queryRawUnsafe<Counts>(COUNT, ofOne);
  counted.last = { ofOne, settled, at };
  return settled;
}

const COUNT_OPEN = `
SELECT operation, state, count(*)::int AS count, count(*) FILTER (WHERE ${isStuck('$1')})::int AS stuck,
       ${epochMs('min(claimed_at)')} AS "oldestAt"
  FROM ${OPEN_KEYS}
 GROUP BY operation, state`;

export const countOpen: Asked<Leases<never>, 'countOpen'> = async (db, stuckAfterMs) =>
  await withDates(db.$queryRawUnsafe(COUNT_OPEN, stuckAfterMs), 'oldestAt');
