import type { KeyState } from '../../../core/key-state.ts';
import type { Overview } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import { isStuck, UNFINISHED_KEYS } from './stuck.ts';

/** From how many rows on a count of what is settled is used again for some seconds: 100,000 take some 30 ms. */
const USED_AGAIN = 20_000;
const KEEP_MS = 10_000;
/** From how many rows on it is estimated. */
const ESTIMATED = 1_000_000;

const ABOUT = `
SELECT greatest(reltuples, 0)::float8 AS expected, pg_total_relation_size(pg_class.oid)::float8 AS bytes, open.*,
       prevented.*
  FROM pg_class,
       (SELECT count(*) FILTER (WHERE state = 'in_progress')::float8 AS in_progress,
               count(*) FILTER (WHERE state = 'unknown')::float8 AS unknown,
               count(*) FILTER (WHERE ${isStuck('$1')})::float8 AS stuck,
               min(claimed_at) FILTER (WHERE state = 'in_progress') AS oldest
          FROM ${UNFINISHED_KEYS}) AS open,
       (SELECT coalesce(sum(count), 0)::float8 AS prevented
          FROM idempotency_tallies
         WHERE outcome IN ('replayed', 'in_flight', 'mismatch')
           AND bucket > statement_timestamp() - interval '30 days') AS prevented
 WHERE pg_class.oid = 'idempotency_keys'::regclass`;

const COUNT = `
SELECT state, count(*)::float8 AS count FROM idempotency_keys
 WHERE settled_at IS NOT NULL GROUP BY state`;

// From what ANALYZE has found in its sample.
const ESTIMATE = `
SELECT one.state, round(one.share * reltuples)::float8 AS count
  FROM pg_class
  JOIN pg_namespace ON pg_namespace.oid = relnamespace
  JOIN pg_stats ON schemaname = nspname AND tablename = relname AND attname = 'state',
       unnest(most_common_vals::text::text[], most_common_freqs) AS one(state, share)
 WHERE pg_class.oid = 'idempotency_keys'::regclass AND one.state IN ('succeeded', 'failed', 'abandoned')`;

interface About {
  expected: number;
  bytes: number;
  in_progress: number;
  unknown: number;
  stuck: number;
  oldest: Date | null;
  prevented: number;
}

type Counts = { state: KeyState; count: number }[];

/** The last count of a store: however many look, and however often, the table is read once in ten seconds. */
export interface Counted {
  last?: { settled: Counts; at: number };
}

/** `Oversight.overview`. */
export async function overview(
  db: RawQueries,
  stuckAfterMs: number,
  { counted = {} as Counted, usedAgain = USED_AGAIN, estimated = ESTIMATED } = {},
): Promise<Overview> {
  const [about] = (await db.$queryRawUnsafe<About[]>(ABOUT, stuckAfterMs)) as [About];
  const estimate = about.expected >= estimated ? await db.$queryRawUnsafe<Counts>(ESTIMATE) : [];
  const isEstimated = estimate.length > 0; // not before the first ANALYZE
  const settled = isEstimated ? estimate : await count(db, counted, about.expected >= usedAgain);
  const open: Counts = [
    { state: 'in_progress', count: about.in_progress },
    { state: 'unknown', count: about.unknown },
  ];
  const all = [...open, ...settled].filter(({ count }) => count > 0);
  return {
    counts: Object.fromEntries(all.map(({ state, count }) => [state, count])),
    isEstimated,
    stuck: about.stuck,
    oldestInProgressAt: about.oldest,
    duplicatesPrevented: about.prevented,
    storage: { rows: all.reduce((sum, { count }) => sum + count, 0), bytes: about.bytes },
  };
}

async function count(db: RawQueries, counted: Counted, mayUseAgain: boolean): Promise<Counts> {
  const known = mayUseAgain ? counted.last : undefined;
  if (known && performance.now() - known.at < KEEP_MS) return known.settled;
  const at = performance.now();
  const settled = await db.$queryRawUnsafe<Counts>(COUNT);
  counted.last = { settled, at };
  return settled;
}
