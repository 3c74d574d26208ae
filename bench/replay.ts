import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import { orderOf, orderRow, POOL, plainClient, who } from './order.ts';
import type { Report } from './report.ts';
import { interleaved, load, ratio } from './rounds.ts';

const OPERATIONS = 3000;
/** A memory's answer takes microseconds: fewer would measure the clock. */
const REMEMBERED_OPERATIONS = 20_000;
const REMEMBERED = 100;
/** Enough for every round of a run: a cold key is asked for once. */
const STORED = 100_000;
const ORDERS = 10_000;

/**
 * The cost of a replay beside `prisma.order.findUnique`. Cold: the key has been finished by another process. Its caller
 * says that it sends again (`attempt`), as the kit's forms do, so the stored answer is looked for at once.
 *
 * One caller at a time: of several, Prisma joins the `findUnique` calls of one tick into one query, and one read would be
 * measured against an eighth of one. What comes of that is shown beside it.
 */
export async function replay(): Promise<Report> {
  const database = await testDatabase({ max: POOL });
  const { client, url, drop } = database;
  const plain = plainClient(url);
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  pool.on('error', () => {}); // `drop` may end a connection that is just about to close by itself
  try {
    const orders = await store(database);
    const execute = orderOf(client);
    let [cold, order, read] = [0, 0, 0];
    const next = (n: number) => orders[n % orders.length] as string;
    const find = (callers: number) =>
      load(() => plain.order.findUniqueOrThrow({ where: { id: next(order++) } }), OPERATIONS, callers);
    const replayCold = (callers: number) =>
      load(() => execute({ key: coldKey(++cold), n: 0, attempt: 2 }), OPERATIONS, callers);
    const samples = await interleaved({
      floor: () => find(1),
      cold: () => replayCold(1),
      again: () => find(1),
      recent: async () => {
        const keys = Array.from({ length: REMEMBERED }, () => randomUUID());
        for (const key of keys) await execute({ key, n: 0 });
        return load((n) => execute({ key: keys[n % REMEMBERED] as string, n: 0 }), REMEMBERED_OPERATIONS, 1);
      },
      pg: () => load(() => readByKey(pool, coldKey(++read)), OPERATIONS, 1),
      joined: () => find(8),
      eight: () => replayCold(8),
    });
    const floor = [samples.floor, samples.again] as const;
    const of = ({ perSecond }: { perSecond: number }) => perSecond;
    return {
      name: 'Replays, one after the other, as ratio to prisma.order.findUnique by id',
      rows: [
        ratio({ figure: 'replay, cold', of, floor, way: samples.cold, atLeast: 1.3 }),
        ratio({ figure: 'replay, recently finished in this process', of, floor, way: samples.recent, atLeast: 10 }),
        ratio({ figure: 'a plain pg read by key', of, floor, way: samples.pg }),
        ratio({ figure: "Node's CPU of a cold replay", of: ({ cpuUs }) => cpuUs, floor, way: samples.cold }),
        ratio({
          figure: 'cold, eight callers at once, to findUnique calls that Prisma joins',
          of,
          floor: [samples.joined, samples.joined],
          way: samples.eight,
        }),
      ],
    };
  } finally {
    await Promise.all([plain.$disconnect(), pool.end()]);
    await drop();
  }
}

function coldKey(n: number): string {
  return `cold-${n}`;
}

/** Keys that nobody in this process has finished: copies of one that was, made by the database. Returns orders to find. */
async function store({ client }: TestDatabase): Promise<string[]> {
  const key = randomUUID();
  await orderOf(client)({ key, n: 0 });
  await client.$executeRaw`
    INSERT INTO idempotency_keys
    SELECT copy.* FROM idempotency_keys one, generate_series(1, ${STORED}::int) n,
      jsonb_populate_record(one, jsonb_build_object('key', 'cold-' || n)) copy
    WHERE one.key = ${key}`;
  const orders = Array.from({ length: ORDERS }, (_, n) => orderRow(n));
  await client.order.createMany({ data: orders });
  await client.$executeRaw`ANALYZE idempotency_keys, orders`;
  return orders.map(({ id }) => id);
}

async function readByKey(pool: pg.Pool, key: string) {
  const { rows } = await pool.query({
    name: 'by-key',
    text: 'SELECT * FROM idempotency_keys WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4',
    values: [who.tenant, who.principal, 'order', key],
  });
  if (rows.length !== 1) throw new Error(`There is no key ${key}`);
  return rows[0];
}
