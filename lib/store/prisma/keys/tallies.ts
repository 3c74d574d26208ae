import type { OutcomeBucket, Tally } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import { recordTimeline } from '../database-facts.ts';
import { timestamp } from '../wire/encoding.ts';

// Ten minutes by the server's clock, so that all processes mean the same ones. In one order for everybody: two processes
// that each held a row which the other one wants next would be a deadlock.
const ADD = `
INSERT INTO idempotency_tallies (bucket, operation, outcome, count)
SELECT to_timestamp(floor(extract(epoch FROM statement_timestamp()) / 600) * 600), operation, outcome, count
  FROM json_to_recordset($1::json) AS counted(operation text, outcome text, count int)
 ORDER BY operation, outcome
ON CONFLICT (bucket, operation, outcome) DO UPDATE SET count = idempotency_tallies.count + EXCLUDED.count`;

const TALLIES = `
SELECT bucket AS at, operation, outcome, count::float8 AS count FROM idempotency_tallies
 WHERE bucket > $1::timestamptz - interval '10 min' AND outcome <> 'timeline'
 ORDER BY bucket, operation, outcome`;

const REAP = `DELETE FROM idempotency_tallies WHERE bucket < statement_timestamp() - interval '30 days'`;

/** `Oversight.addTallies`. */
export async function addTallies(db: RawQueries, counts: readonly Tally[]): Promise<void> {
  await db.$queryRawUnsafe(ADD, JSON.stringify(counts));
  await recordTimeline(db);
}

/** `Oversight.tallies`. */
export async function tallies(db: RawQueries, since: Date): Promise<OutcomeBucket[]> {
  return await db.$queryRawUnsafe<OutcomeBucket[]>(TALLIES, timestamp(since));
}

/** `Oversight.reapTallies`. */
export async function reapTallies(db: RawQueries): Promise<void> {
  await db.$queryRawUnsafe(REAP);
}
