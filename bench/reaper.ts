import { setTimeout as wait } from 'node:timers/promises';
import { createIdempotency } from 'oncekit';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import { type Client, createClient } from '../shop/db.ts';
import { median, type Report } from './report.ts';

const EXPIRED = 100_000;
const LIVE = 1000;
const STEPS = 3;
const ROUNDS = 3;
const CALLERS = 4;
const WARM_UP_MS = 1000;
const ALONE_MS = 4000;
const SECRET = ['bench-secret-of-at-least-32-characters'];
const who = { tenant: 'bench', principal: 'bench' };

/**
 * P5: 100,000 expired and 1,000 live rows. How fast does the reaper delete the expired ones, in batches of 1,000, and
 * what do executions in one transaction notice that run beside it?
 */
export async function reaper(): Promise<Report> {
  const database = await testDatabase({ max: CALLERS });
  // A worker is a process of its own: it does not share the app's connections.
  const client = createClient(database.url, { max: 1 });
  const load = loadOn(database);
  const worker = createIdempotency({ prisma: client, secret: SECRET, poolSize: 1 });
  try {
    await load(wait(WARM_UP_MS));
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await fill(client);
      const alone = await load(wait(ALONE_MS));
      const startedAt = performance.now();
      const reaping = worker.reap().then((rows) => ({ rows, ms: performance.now() - startedAt }));
      const besides = await load(reaping);
      const { rows, ms } = await reaping;
      const again = await load(wait(ALONE_MS));
      rounds.push({ alone, besides, again, rate: rows / (ms / 1000), rows, left: await left(client) });
    }
    return report(rounds);
  } finally {
    await client.$disconnect();
    await database.drop();
  }
}

interface Round {
  /** How long executions took, in milliseconds: before the reaper, beside it, after it. */
  alone: number[];
  besides: number[];
  again: number[];
  /** Rows a second. */
  rate: number;
  rows: number;
  left: { expired: number; live: number };
}

function report(rounds: Round[]): Report {
  // Before and after it together: what a busy machine does to one of them, it mostly does to both.
  const besides = (share: number) =>
    median(rounds.map((one) => quantile(one.besides, share) / quantile([...one.alone, ...one.again], share))).toFixed(
      2,
    );
  const floor = median(rounds.map(({ alone, again }) => quantile(again, 0.5) / quantile(alone, 0.5))).toFixed(2);
  const every = (is: (round: Round) => boolean) => rounds.every(is);
  const remaining = [...new Set(rounds.map(({ left: { expired, live } }) => `${expired} + ${live}`))].join(', ');
  return {
    name: 'Reaping 100,000 expired rows beside 1,000 live ones, under load (P5)',
    rows: [
      {
        figure: 'rows that the reaper says it deleted',
        value: [...new Set(rounds.map(({ rows }) => rows))].join(', '),
        must: String(EXPIRED),
        met: every(({ rows }) => rows === EXPIRED),
      },
      {
        figure: 'rows that remain, expired + live',
        value: remaining,
        must: `0 + ${LIVE}`,
        met: every(({ left: { expired, live } }) => expired === 0 && live === LIVE),
      },
      {
        figure: `rows reaped a second, each with ${STEPS} steps`,
        value: median(rounds.map(({ rate }) => rate)).toFixed(0),
      },
      { figure: 'latency of executions beside it, ratio to without it: median', value: besides(0.5) },
      { figure: 'the same: 95 of 100', value: besides(0.95) },
      { figure: 'without it, after to before: median', value: floor },
    ],
  };
}

/** Keys of an operation that no load uses: their results and steps are about as large as a checkout's. */
async function fill(client: Client): Promise<void> {
  await client.$executeRaw`TRUNCATE idempotency_keys, idempotency_phases`;
  await client.$executeRaw`
    INSERT INTO idempotency_keys
      (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id, result, claimed_at, settled_at, expires_at)
    SELECT 'bench', 'user-' || n % 1000, 'reaped', gen_random_uuid()::text, 'succeeded',
           decode(repeat('00', 32), 'hex'), 1, 'bench', repeat('x', 300), now() - interval '9 days', now() - interval '9 days',
           CASE WHEN n <= ${EXPIRED}::int THEN now() - n * interval '1 second' ELSE now() + interval '1 day' END
      FROM generate_series(1, ${EXPIRED + LIVE}::int) n ORDER BY random()`;
  await client.$executeRaw`
    INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, fencing_token)
    SELECT tenant, principal, operation, key, 'step-' || step, step, 'atomic', 'done', 1
      FROM idempotency_keys, generate_series(1, ${STEPS}::int) step WHERE operation = 'reaped'`;
  // What a server does by itself in time: the dead rows of the round before are not this one's to carry.
  for (const table of ['idempotency_keys', 'idempotency_phases'])
    await client.$executeRawUnsafe(`VACUUM ANALYZE ${table}`);
}

async function left(client: Client): Promise<Round['left']> {
  const [row] = await client.$queryRaw<[Round['left']]>`
    SELECT count(*) FILTER (WHERE expires_at <= now())::int AS expired, count(*) FILTER (WHERE expires_at > now())::int AS live
      FROM idempotency_keys WHERE operation = 'reaped'`;
  return row;
}

/** Executes keys of their own, a few at once, until that is over. How long each took, in milliseconds. */
function loadOn({ client }: TestDatabase): (during: Promise<unknown>) => Promise<number[]> {
  const kit = createIdempotency({ prisma: client, secret: SECRET, poolSize: CALLERS });
  const order = kit.operation({ name: 'order', schema: z.object({ n: z.number() }) }).handler(async ({ tx, input }) => {
    await tx.auditRecord.create({ data: { action: 'bench', ...who, data: { n: input.n } } });
    return { n: input.n };
  });
  return async (during) => {
    const took: number[] = [];
    let running = true;
    const caller = async () => {
      while (running) {
        const startedAt = performance.now();
        const outcome = await order.execute({ key: await order.mintKey(who), scope: who, payload: { n: took.length } });
        if (!outcome.ok) throw new Error(`A key of its own was refused: ${outcome.code}`);
        took.push(performance.now() - startedAt);
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, caller));
    await during.finally(() => {
      running = false;
    });
    await callers;
    return took;
  };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
