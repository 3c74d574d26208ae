import { RateLimiterPostgres } from 'rate-limiter-flexible';
import { db } from '../db.ts';

/** So many points in so many seconds. `name` keeps one limit's counts from another's. */
export interface Limit {
  name: string;
  points: number;
  duration: number;
}

export type Query = (query: { text: string; values: unknown[] }) => Promise<unknown[]>;

/**
 * A limit that all processes share: each request is counted by one upsert, so that no two of them read the same count.
 * It travels through Prisma's pool: a limiter needs no connections of its own.
 */
export function sharedLimit({ name, points, duration }: Limit, query: Query = queryByPrisma): RateLimiterPostgres {
  return new RateLimiterPostgres({
    points,
    duration,
    keyPrefix: name,
    tableName: 'rate_limits',
    tableCreated: true, // by the migrations
    storeType: 'client',
    storeClient: { query: async (asked: Parameters<Query>[0]) => rowsOf(await query(asked)) },
  });
}

function queryByPrisma({ text, values }: Parameters<Query>[0]): Promise<unknown[]> {
  return db().$queryRawUnsafe(text, ...values);
}

/** As `pg` answers. Prisma reads `bigint` as BigInt, with which the limiter cannot reckon. */
function rowsOf(found: unknown[]): { rows: unknown[]; rowCount: number } {
  const rows = (found as { expire?: bigint | null }[]).map((row) => ({ ...row, expire: Number(row.expire ?? 0) }));
  return { rows, rowCount: rows.length };
}
