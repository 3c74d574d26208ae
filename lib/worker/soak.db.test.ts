import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { random } from '../../e2e/fixtures/random.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { SEED, tier } from '../../scripts/testing/tier.ts';
import { until } from '../../scripts/testing/until.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { ANN } from '../integration/kit.fixture.ts';
import { EventError } from '../messaging/event.ts';
import { verifyWebhook } from '../messaging/webhook.ts';
import { AMOUNT, SECRETS, soakedInbox, soakedOutbox } from './soak.fixture.ts';

const CHILD = fileURLToPath(new URL('./soak.child.ts', import.meta.url));
const { WRITERS, ROUNDS, WORKERS, KILLS, SLOW } =
  tier === 'chaos'
    ? { WRITERS: 16, ROUNDS: 80, WORKERS: 4, KILLS: 12, SLOW: 100 }
    : { WRITERS: 4, ROUNDS: 20, WORKERS: 2, KILLS: 1, SLOW: 30 };
const AGGREGATES = 4;

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await testDatabase();
  client = createClient(database.url, { max: 30 });
});
afterAll(async () => {
  await client?.$disconnect();
  await database?.drop();
});

/** The bank's own server: now and then it is down, or its answer is lost. `/slow` answers once the gate is open. */
async function startBank(next: () => number) {
  const inbox = soakedInbox(client, 0);
  const arrived: string[] = [];
  const waiting: (() => void)[] = [];
  let isOpen = false;
  const server = createServer(async (request, response) => {
    if (request.url === '/slow') {
      const answer = () => response.writeHead(204).end();
      return void (isOpen ? answer() : waiting.push(answer));
    }
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id } = verifyWebhook(body, request.headers as Record<string, string>, SECRETS);
    arrived.push(id);
    if (next() < 0.1) return void response.writeHead(500).end();
    const payload = JSON.parse(body).data;
    const received = await inbox.receiveOnce({ source: 'bank', eventId: id, payload });
    if (next() < 0.1) return void request.socket.destroy();
    const isKept = received.kind === 'failed' && received.isKept;
    response.writeHead(received.kind === 'failed' && !isKept ? 500 : 204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    inbox,
    arrived,
    waiting,
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    open: () => {
      isOpen = true;
      for (const answer of waiting) answer();
    },
  };
}

type Bank = Awaited<ReturnType<typeof startBank>>;

/** Announces events: 30 of 100 transactions roll back, others a part of them; two may announce the same at once. */
async function write({ address }: Bank, next: () => number, writer: number): Promise<string[]> {
  const outbox = soakedOutbox(client, address);
  const committed: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [isRolledBack, hasSavepoint, isShared] = [next() < 0.3, next() < 0.3, next() < 0.5];
    const event = {
      type: 'paid',
      aggregate: `account:${Math.floor(next() * AGGREGATES)}`,
      payload: { amount: AMOUNT },
    };
    // Writers of one pair announce the same step of the same intent.
    const from = isShared ? { scope: { ...ANN, operation: 'soak' }, key: `${round}:${writer >> 1}` } : undefined;
    const announce = client.$transaction(
      async (tx) => {
        if (hasSavepoint) {
          await tx.$executeRaw`SAVEPOINT part`;
          await outbox.enqueue(tx, event);
          await tx.$executeRaw`ROLLBACK TO SAVEPOINT part`;
        }
        const announced = await outbox.enqueue(tx, event, from && { ...from, step: 'paid' }).catch((error) => {
          if (error instanceof EventError) return undefined;
          throw error;
        });
        if (isRolledBack) throw new Error('rolled back');
        return announced?.eventId;
      },
      { timeout: 60_000, maxWait: 60_000 },
    );
    const eventId = await announce.catch((error: Error) => {
      if (error.message !== 'rolled back') throw error;
    });
    if (eventId) committed.push(eventId);
  }
  return committed;
}

/** Workers, some of which are killed: the next one comes when so many events have arrived. */
function startWorkers({ address, arrived }: Bank, expected: number) {
  let number = 0;
  let kills = 0;
  const living: { child: ChildProcess; name: string }[] = [];
  const start = () => {
    const name = `soak-${++number}`;
    const url = new URL(database.url);
    url.searchParams.set('application_name', name);
    const child = spawn(process.execPath, ['--import', 'tsx', CHILD, url.href, address, String(number)]);
    child.stderr.pipe(process.stderr);
    living.push({ child, name });
  };
  for (let n = 0; n < WORKERS; n++) start();
  onTestFinished(() => {
    for (const { child } of living) child.kill('SIGKILL');
  });
  return {
    /** Kills the oldest one at its time, and lets the leases of the dead end. */
    async next(): Promise<void> {
      if (kills === KILLS || arrived.length < (expected * (kills + 1)) / (KILLS + 1)) return;
      kills++;
      const { child, name } = living.shift() as (typeof living)[number];
      child.kill('SIGKILL');
      await once(child, 'exit');
      // The server ends what it was sent before, such as the statement that takes an event, and keeps its locks until then.
      await until('its sessions end', async () => (await sessionsOf(name)) === 0);
      start();
      await client.$executeRaw`UPDATE outbox_deliveries SET next_attempt_at = clock_timestamp() WHERE state = 'pending'`;
      // What runs is locked.
      await client.$executeRaw`
        UPDATE inbox_events SET next_attempt_at = clock_timestamp() WHERE (source, event_id) IN (
          SELECT source, event_id FROM inbox_events WHERE state = 'failed' FOR UPDATE SKIP LOCKED)`;
    },
    kills: () => kills,
  };
}

/** How many sessions of a worker the server has. */
async function sessionsOf(name: string): Promise<number> {
  const [row] = await client.$queryRaw<[{ count: number }]>`
    SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = ${name}`;
  return row.count;
}

const effectsOf = (ids: readonly string[]) =>
  client.auditRecord.findMany({ where: { action: { in: [...ids] } }, select: { action: true, data: true } });

test(`M1 M2 M3 ${WRITERS} writers, ${WORKERS} workers that are killed, a bank that fails: each event once, in order, as it was sent, beside a slow source`, {
  timeout: bound(tier === 'chaos' ? 300_000 : 120_000),
}, async () => {
  const next = random(SEED);
  const bank = await startBank(next);
  const slow = Array.from({ length: SLOW }, (_, n) => `slow-${n}`);
  for (const eventId of slow) {
    const event = { source: 'slow', eventId, payload: { amount: AMOUNT } };
    expect(await bank.inbox.receiveOnce(event)).toMatchObject({ kind: 'failed', isKept: true });
  }

  const workers = startWorkers(bank, WRITERS * ROUNDS * 0.6);
  const writing = Promise.all(
    Array.from({ length: WRITERS }, (_, writer) => write(bank, random(SEED + writer), writer)),
  );
  let ids: string[] | undefined;
  void writing.then((written) => (ids = written.flat()));
  const left = async () => {
    await workers.next();
    const effects = ids ? ids.length - (await effectsOf(ids)).length : 'not all announced';
    return { kills: KILLS - workers.kills(), effects };
  };
  const patience = { timeout: bound(tier === 'chaos' ? 200_000 : 60_000), interval: 50 };
  await expect.poll(left, patience).toEqual({ kills: 0, effects: 0 });
  const committed = (await writing).flat();

  // The slow source has not ended one of its events meanwhile.
  expect(bank.waiting.length).toBeGreaterThan(0);
  expectCounted(await effectsOf(slow)).toEqual([]);
  bank.open();
  await expect.poll(async () => (await effectsOf(slow)).length, { timeout: bound(60_000) }).toBe(SLOW);

  const effects = await effectsOf([...committed, ...slow]);
  expectCounted(effects.map(({ action }) => action).sort()).toEqual([...committed, ...slow].sort());
  expect(new Set(effects.map(({ data }) => (data as { amount: number }).amount))).toEqual(new Set([AMOUNT / 100]));
  const received = await client.inboxEvent.findMany();
  expect(received.filter(({ state, mismatches }) => state !== 'processed' || mismatches > 0)).toEqual([]);

  await expect.poll(() => client.outboxDelivery.count({ where: { state: { not: 'delivered' } } })).toBe(0);
  const events = await client.outboxEvent.findMany({ orderBy: { sequence: 'asc' } });
  expect(events.map(({ id }) => id).sort()).toEqual([...committed].sort());
  const first = [...new Set(bank.arrived)];
  for (let n = 0; n < AGGREGATES; n++) {
    const own = events.filter(({ aggregate }) => aggregate === `account:${n}`);
    expect(own.map(({ sequence }) => Number(sequence))).toEqual(own.map((_, at) => at + 1));
    expect(first.filter((id) => own.some((event) => event.id === id))).toEqual(own.map(({ id }) => id));
  }
});
