import { setTimeout as wait } from 'node:timers/promises';
import { createIdempotency } from 'oncekit';
import pg from 'pg';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import { createClient } from '../shop/db.ts';
import { median, type Report } from './report.ts';

const POOL = 10;
const HELD_KEYS = 10;
const DUPLICATES = 500;
const ROUNDS = 7;
const OPERATIONS = 1500;
const CALLERS = 8;
const SECRET = ['bench-secret-of-at-least-32-characters'];
const schema = z.object({ n: z.number() });
const who = { tenant: 'bench', principal: 'bench' };

/**
 * C5: another process holds ten keys; 500 duplicates of them arrive here, again and again. How fast do other keys go
 * on, and how many connections wait?
 */
export async function otherKeys(): Promise<Report> {
  const database = await testDatabase({ max: POOL });
  const bench = orderBench(database);
  const release = await holdKeys(database.url);
  try {
    await bench.throughput(); // warms up the pool and the statements
    const rounds: { alone: number; besides: number; floor: number; waiting: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await bench.throughput();
      const flood = startFlood(bench.duplicate, database.url);
      const besides = await bench.throughput();
      const waiting = await flood.stop();
      const again = await bench.throughput();
      rounds.push({ alone, besides, floor: again / alone, waiting });
    }
    const ratio = median(rounds.map(({ alone, besides }) => besides / alone));
    const most = Math.max(...rounds.map(({ waiting }) => waiting));
    return {
      name: 'Other keys beside 500 duplicates of ten keys held elsewhere (C5)',
      rows: [
        {
          figure: 'throughput of other keys, ratio to alone',
          value: ratio.toFixed(2),
          must: '≥ 0.80',
          met: ratio >= 0.8,
        },
        {
          figure: 'the same without duplicates, second to first run',
          value: median(rounds.map(({ floor }) => floor)).toFixed(2),
        },
        {
          figure: `connections waiting for a claim at once, of ${POOL}`,
          value: String(most),
          must: '≤ 2',
          met: most <= 2,
        },
      ],
    };
  } finally {
    await release();
    await database.drop();
  }
}

function orderBench({ client }: TestDatabase) {
  const kit = createIdempotency({ prisma: client, secret: SECRET, poolSize: POOL });
  const order = kit.operation({ name: 'order', schema: schema }).handler(async ({ tx, input }) => {
    await tx.auditRecord.create({ data: { action: 'bench', ...who, data: { n: input.n } } });
    return { n: input.n };
  });
  return {
    duplicate: (n: number) => order.execute({ key: heldKey(n), scope: who, payload: { n: n % HELD_KEYS } }),
    /** Operations a second, each with a key of its own. */
    throughput: async () => {
      const started = performance.now();
      let left = OPERATIONS;
      const caller = async () => {
        while (left-- > 0) {
          const outcome = await order.execute({ key: await order.mintKey(who), scope: who, payload: { n: left } });
          if (!outcome.ok) throw new Error(`A key of its own was refused: ${outcome.code}`);
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, caller));
      return OPERATIONS / ((performance.now() - started) / 1000);
    },
  };
}

function heldKey(n: number): string {
  return `held-${n % HELD_KEYS}`;
}

/** Ten executions under way in another pool, as in another process: claimed, not committed. */
async function holdKeys(url: string): Promise<() => Promise<void>> {
  const client = createClient(url, { max: HELD_KEYS });
  let free = () => {};
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  let running = 0;
  const kit = createIdempotency({ prisma: client, secret: SECRET, poolSize: HELD_KEYS });
  const slow = kit
    .operation({ name: 'order', schema, timeoutMs: 600_000, maxWaitMs: 10_000 })
    .handler(async ({ fail }) => {
      running++;
      await held;
      fail('held');
    });
  const all = Array.from({ length: HELD_KEYS }, (_, n) =>
    slow.execute({ key: heldKey(n), scope: who, payload: { n } }),
  );
  while (running < HELD_KEYS) await wait(10);
  return async () => {
    free();
    await Promise.all(all);
    await client.$disconnect();
  };
}

/** Keeps 500 duplicates under way and samples how many connections wait for a lock. */
function startFlood(duplicate: (n: number) => Promise<unknown>, url: string) {
  let running = true;
  let waiting = 0;
  const caller = async (n: number) => {
    // A browser that is told `in_flight` asks again after a second; these are as patient.
    while (running) {
      await duplicate(n);
      await wait(1000);
    }
  };
  const watch = async () => {
    const observer = new pg.Client({ connectionString: url });
    await observer.connect();
    while (running) {
      const { rows } = await observer.query(
        `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      waiting = Math.max(waiting, rows[0].waiting);
      await wait(10);
    }
    await observer.end();
  };
  const all = Promise.all([watch(), ...Array.from({ length: DUPLICATES }, (_, n) => caller(n))]);
  return {
    stop: async () => {
      running = false;
      await all;
      return waiting;
    },
  };
}
