import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { createIdempotency } from 'oncekit';
import { createOutbox, type Outbox, verifyWebhook, webhook } from 'oncekit/messaging';
import { startWorker } from 'oncekit/worker';
import { type TestDatabase, testDatabase } from '../scripts/testing/test-database.ts';
import { median, type Report } from './report.ts';

const ROUNDS = 7;
const OPERATIONS = 600;
const CALLERS = 4;
const EVENTS = 600;
const AGGREGATES = 60;
const TIMED_EVENTS = 200;
const BLOCKED = { few: 1000, many: 400_000 };
const LOOKS = 101;
const SECRETS = [`whsec_${Buffer.from('bench-secret-of-the-destinations').toString('base64')}`];
const who = { tenant: 'bench', principal: 'bench' };

/** The cost of an announcement, how fast the relay sends, and how long an event takes. To a real HTTP receiver. */
export async function messages(): Promise<Report> {
  const database = await testDatabase({ max: 10 });
  const receiver = await startReceiver();
  const destinations = [{ name: 'bench', publisher: webhook({ url: receiver.url, secrets: SECRETS }) }];
  try {
    const worker = workerOn(database, destinations);
    await worker.ready();
    const lag = await lags(database, worker.outbox, receiver);
    await worker.stop();

    const outbox = createOutbox({ prisma: database.client, destinations, wake: false });
    const rounds: { plain: number; announced: number; posted: number; relayed: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const plain = await throughput(database);
      const announced = await throughput(database, outbox);
      await outbox.relayDue();
      const posted = await posts(receiver);
      await announceAll(database, outbox);
      const started = performance.now();
      const { delivered } = await outbox.relayDue();
      const relayed = perSecond(delivered, started);
      if (round > 0) rounds.push({ plain, announced, posted, relayed }); // the first warms up
    }
    const looks = await looksBeside(database);
    return {
      name: 'Outbox and relay, to a webhook in another socket of the same machine',
      rows: [
        {
          figure: 'throughput of a one-row transaction that announces an event, ratio to one that does not',
          value: median(rounds.map(({ plain, announced }) => announced / plain)).toFixed(2),
        },
        {
          figure: `events relayed per second, ${AGGREGATES} aggregates, one relay`,
          value: median(rounds.map(({ relayed }) => relayed)).toFixed(0),
        },
        {
          figure: 'the same, ratio to bare posts to the same receiver, 20 at once',
          value: median(rounds.map(({ posted, relayed }) => relayed / posted)).toFixed(2),
        },
        {
          figure: 'relay of one event beside 400,000 blocked aggregates, ratio to beside 1,000',
          value: looks.toFixed(2),
          must: 'at most 1.5',
          met: looks <= 1.5,
        },
        { figure: 'commit to delivery, p50, in ms', value: quantile(lag.ms, 0.5).toFixed(1) },
        { figure: 'commit to delivery, p99, in ms', value: quantile(lag.ms, 0.99).toFixed(1) },
        { figure: 'p50, ratio to the transaction before it', value: (quantile(lag.ms, 0.5) / lag.commitMs).toFixed(1) },
      ],
    };
  } finally {
    await receiver.close();
    await database.drop();
  }
}

type Destinations = Parameters<typeof createOutbox>[0]['destinations'];

function workerOn({ client, url }: TestDatabase, destinations: Destinations) {
  const outbox = createOutbox({ prisma: client, destinations });
  const idempotency = createIdempotency({ prisma: client, secret: ['bench-secret-of-at-least-32-characters'] });
  const worker = startWorker({ idempotency, outbox, connectionString: url, log: () => {} });
  return {
    outbox,
    stop: () => worker.stop(),
    /** Its job runner has set itself up, so commits wake it. */
    async ready() {
      const seen = async () =>
        await client.$queryRaw<{ there: boolean }[]>`SELECT to_regclass('graphile_worker.jobs') IS NOT NULL AS there`;
      while (!(await seen())[0]?.there) await wait(50);
    },
  };
}

/** One event after the other, each announced when the one before has arrived: nothing waits in a queue. */
async function lags({ client }: TestDatabase, outbox: Outbox, receiver: Receiver) {
  const ms: number[] = [];
  const commits: number[] = [];
  for (let n = 0; n < TIMED_EVENTS; n++) {
    const began = performance.now();
    const { eventId } = await client.$transaction((tx) =>
      outbox.enqueue(tx, { type: 'bench.timed', aggregate: `timed:${n}`, payload: { n } }),
    );
    const committed = performance.now();
    ms.push((await receiver.arrived(eventId)) - committed);
    commits.push(committed - began);
  }
  return { ms, commitMs: median(commits) };
}

/** Transactions a second, each with one business row, and an event of an aggregate of its own where there is an outbox. */
async function throughput({ client }: TestDatabase, outbox?: Outbox): Promise<number> {
  const started = performance.now();
  let left = OPERATIONS;
  const caller = async () => {
    while (left-- > 0) {
      const aggregate = `order:${started}:${left}`;
      await client.$transaction(async (tx) => {
        await tx.auditRecord.create({ data: { action: 'bench', ...who, data: { left } } });
        await outbox?.enqueue(tx, { type: 'bench.done', aggregate, payload: { left } });
      });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return perSecond(OPERATIONS, started);
}

async function announceAll({ client }: TestDatabase, outbox: Outbox): Promise<void> {
  await client.$transaction(
    async (tx) => {
      for (let n = 0; n < EVENTS; n++) {
        await outbox.enqueue(tx, { type: 'bench.sent', aggregate: `many:${n % AGGREGATES}`, payload: { n } });
      }
    },
    { timeout: 60_000 },
  );
}

/** A dead letter and an event behind it in each of so many aggregates: the relay looks at each once before it is timed. */
async function looksBeside({ client }: TestDatabase): Promise<number> {
  const names = ['few', 'many'] as const;
  const publisher = { publish: async () => {} };
  const outbox = createOutbox({
    prisma: client,
    destinations: names.map((name) => ({ name, publisher })),
    wake: false,
  });
  for (const name of names) {
    const prefix = `blocked ${name} `;
    await client.$executeRaw`
      INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
      SELECT gen_random_uuid(), ${prefix} || n, sequence, 'bench.blocked', '{}', '{}', ${prefix} || n || ' ' || sequence, now()
        FROM generate_series(1, ${BLOCKED[name]}::int) AS n, generate_series(1, 2) AS sequence`;
    await client.$executeRaw`
      INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, state, settled_at, next_attempt_at)
      SELECT id, ${name}, aggregate, sequence, CASE sequence WHEN 1 THEN 'dead' ELSE 'pending' END,
             CASE sequence WHEN 1 THEN now() END, CASE sequence WHEN 2 THEN now() END
        FROM outbox_events WHERE aggregate LIKE ${prefix} || '%'`;
    await client.$executeRaw`VACUUM ANALYZE outbox_deliveries`;
    await outbox.relayDue({ destination: name });
  }
  await client.$executeRaw`VACUUM ANALYZE outbox_deliveries`;
  const ms = { few: [] as number[], many: [] as number[] };
  for (let n = 0; n < LOOKS; n++) {
    await client.$transaction((tx) => outbox.enqueue(tx, { type: 'bench.well', aggregate: `well:${n}`, payload: {} }));
    for (const name of names) {
      const began = performance.now();
      await outbox.relayDue({ destination: name });
      ms[name].push(performance.now() - began);
    }
  }
  return median(ms.many) / median(ms.few);
}

async function posts({ url }: Receiver): Promise<number> {
  const started = performance.now();
  let left = EVENTS;
  const caller = async () => {
    while (left-- > 0) await (await fetch(url, { method: 'POST', body: JSON.stringify({ n: left }) })).arrayBuffer();
  };
  await Promise.all(Array.from({ length: 20 }, caller));
  return perSecond(EVENTS, started);
}

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** Verifies what is signed, remembers when it came, and answers 204. */
async function startReceiver() {
  const arrivals = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const id = req.headers['webhook-id'];
    if (typeof id === 'string') {
      verifyWebhook(Buffer.concat(chunks).toString(), req.headers as Record<string, string>, SECRETS);
      arrivals.set(id, performance.now());
      waiting.get(id)?.(performance.now());
    }
    res.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrived: async (id: string) =>
      arrivals.get(id) ?? (await new Promise<number>((resolve) => waiting.set(id, resolve))),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function perSecond(count: number, started: number): number {
  return count / ((performance.now() - started) / 1000);
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
