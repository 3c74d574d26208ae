import { setTimeout as wait } from 'node:timers/promises';
import { createIdempotency } from 'oncekit';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import { type Client, createClient } from '../shop/db.ts';
import { quantile } from './reaper.ts';
import { median, type Report, type Row } from './report.ts';
import { interleaved, ratio } from './rounds.ts';
import { fill } from './scale-fill.ts';
import { week } from './scale-week.ts';

/** `SCALE=0.01` for a quick try: fewer rows, not fewer rounds. */
const SCALE = Number(process.env.SCALE ?? 1);
const MANY = 10_000_000 * SCALE;
const FEW = 10_000 * Math.min(1, SCALE * 10);
const EXPIRED = MANY / 10;
const PER_ROUND = 200;
const BESIDE_ROUNDS = 5;
const BESIDE_MS = 3000;
const CALLERS = 4;
/** Between two calls of a caller: submits that come at a rate, not as fast as they can, which would be a race for CPU. */
const PAUSE_MS = 10;
const SECRET = ['bench-secret-of-at-least-32-characters'];

/** Of lengths that apps have. */
const who = () => ({ tenant: 'acme', principal: `user-${1000 + Math.floor(Math.random() * 5000)}` });

/** The cost of the key table: claims beside ten million keys, reaping a million of them, a week's bloat. */
export async function scale(): Promise<Report> {
  const rows: Row[] = [];
  const [many, few] = [await testDatabase({ max: CALLERS }), await testDatabase({ max: CALLERS })];
  try {
    say(`Filling a table with ${MANY} keys`);
    await fill(few.url, FEW, 0);
    await fill(many.url, MANY, EXPIRED);
    say('First executions in both');
    rows.push(await compare(many, few));
    say(`Reaping ${EXPIRED} of them`);
    const { reaped, seconds } = await timedReap(many);
    rows.push({
      figure: `reaping ${reaped} expired of ${MANY}, in seconds`,
      value: seconds.toFixed(1),
      must: '≤ 15',
      met: reaped === EXPIRED && seconds <= 15,
    });
    say('Executions beside the reaper');
    rows.push(...(await besideReaper(many)));
  } finally {
    await many.drop();
    await few.drop();
  }
  say('A week');
  const days = await week(Math.round(100_000 * Math.min(1, SCALE * 5)), say);
  rows.push({
    figure: 'a week of as many keys reaped as made: size of table and indexes, each day to the second',
    value: days.map((size) => (size / (days[1] ?? 1)).toFixed(2)).join(', '),
    must: 'the last ≤ 1.1',
    met: (days.at(-1) ?? 0) <= 1.1 * (days[1] ?? 0),
  });
  return { name: 'The key table at scale', rows };
}

function say(what: string) {
  console.error(`  ${new Date().toISOString().slice(11, 19)} ${what} …`);
}

function kitOn(client: Client) {
  const kit = createIdempotency({ prisma: client, secret: SECRET, poolSize: CALLERS });
  const schema = z.object({ n: z.number() });
  const order = kit.operation({ name: 'order', schema }).handler(async ({ tx, input }) => {
    const { id } = await tx.auditRecord.create({ data: { action: 'bench', tenant: 'bench', principal: 'bench' } });
    return { n: input.n, id: String(id) };
  });
  /** How long it took, in milliseconds. */
  const once = async (): Promise<number> => {
    const scope = who();
    const key = await order.mintKey(scope);
    const startedAt = performance.now();
    const outcome = await order.execute({ key, scope, payload: { n: 1 } });
    if (!outcome.ok) throw new Error(`A key of its own was refused: ${outcome.code}`);
    return performance.now() - startedAt;
  };
  return { kit, once };
}

const EXPIRE = `UPDATE idempotency_keys SET expires_at = now() - random() * interval '1 hour' 
  WHERE (key, operation, principal, tenant) IN (
    SELECT key, operation, principal, tenant FROM idempotency_keys ORDER BY expires_at LIMIT ${Math.round(400_000 * SCALE)})`;
async function sql<Row>({ url }: TestDatabase, text: string): Promise<Row> {
  const client = createClient(url, { max: 1 });
  try {
    return ((await client.$queryRawUnsafe<Row[]>(text))[0] ?? {}) as Row;
  } finally {
    await client.$disconnect();
  }
}

/** One call after the other: how long one takes, not how many fit beside each other. */
async function compare(many: TestDatabase, few: TestDatabase): Promise<Row> {
  const p50On = ({ client }: TestDatabase) => {
    const { once } = kitOn(client);
    return async () => {
      const took: number[] = [];
      for (let n = 0; n < PER_ROUND; n++) took.push(await once());
      return median(took);
    };
  };
  const floor = p50On(few);
  const took = await interleaved({ floor, many: p50On(many), again: floor });
  const figure = `p50 of first executions with ${MANY} keys stored, to with ${FEW}`;
  return ratio({ figure, of: (p50) => p50, floor: [took.floor, took.again], way: took.many, atMost: 1.1 });
}

/** A worker is a process of its own: it does not share the app's connections. */
async function asWorker<T>({ url }: TestDatabase, work: (kit: ReturnType<typeof kitOn>['kit']) => Promise<T>) {
  const client = createClient(url, { max: 1 });
  try {
    return await work(kitOn(client).kit);
  } finally {
    await client.$disconnect();
  }
}

async function timedReap(database: TestDatabase) {
  return await asWorker(database, async (kit) => {
    const startedAt = performance.now();
    const reaped = await kit.reap();
    return { reaped, seconds: (performance.now() - startedAt) / 1000 };
  });
}

async function besideReaper(database: TestDatabase): Promise<Row[]> {
  const { once } = kitOn(database.client);
  const load = async (during: Promise<unknown>) => {
    const took: number[] = [];
    let isRunning = true;
    const caller = async () => {
      while (isRunning) {
        took.push(await once());
        await wait(PAUSE_MS);
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, caller));
    await during.finally(() => {
      isRunning = false;
    });
    await callers;
    return took;
  };
  await load(wait(1000));
  const rounds: Record<'alone' | 'beside' | 'again', number[]>[] = [];
  await asWorker(database, async (kit) => {
    for (let round = 0; round < BESIDE_ROUNDS; round++) {
      // More than it can delete meanwhile, so that it is at it all the time.
      await sql(database, EXPIRE);
      await sql(database, 'VACUUM idempotency_keys');
      const alone = await load(wait(BESIDE_MS));
      const beside = await load(kit.reap({ signal: AbortSignal.timeout(BESIDE_MS) }));
      rounds.push({ alone, beside, again: await load(wait(BESIDE_MS)) });
      await kit.reap();
    }
  });
  const besides = (share: number) =>
    median(rounds.map(({ alone, beside, again }) => quantile(beside, share) / quantile([...alone, ...again], share)));
  const floor = median(rounds.map(({ alone, again }) => quantile(again, 0.99) / quantile(alone, 0.99)));
  const p99 = besides(0.99);
  return [
    {
      figure: 'p99 of executions beside the reaper, to without it',
      value: p99.toFixed(2),
      must: '≤ 1.3',
      met: p99 <= Math.max(1.3, floor),
      floor: floor.toFixed(2),
    },
    { figure: 'p50 of the same', value: besides(0.5).toFixed(2) },
  ];
}
