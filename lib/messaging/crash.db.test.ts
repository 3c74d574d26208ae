import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { until } from '../../scripts/testing/until.ts';
import { effect, effects } from '../integration/kit.fixture.ts';
import { announce, gate, outboxOn, timePasses } from './messaging.fixture.ts';
import { createInbox } from './prisma.ts';
import { verifyWebhook, webhook } from './webhook.ts';

const CHILD = fileURLToPath(new URL('./crash.child.ts', import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** 20 in `npm run test:crash`. */
const ROUNDS = Array.from({ length: Number(process.env.CRASH_ROUNDS ?? 1) }, (_, n) => n + 1);
const EVENTS = 3;

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
});
afterAll(() => database?.drop());

function child(...args: string[]): { process: ChildProcess; line: () => Promise<string> } {
  const started = spawn(process.execPath, ['--import', 'tsx', CHILD, ...args]);
  onTestFinished(() => void started.kill('SIGKILL'));
  started.stderr.pipe(process.stderr);
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]();
  return { process: started, line: async () => (await lines.next()).value };
}

async function kill(victim: ChildProcess): Promise<void> {
  const gone = once(victim, 'exit');
  victim.kill('SIGKILL');
  await gone;
}

/** A receiver in this process: verifies, and lets each event take effect once. `seen` is what came, in its order. */
async function receiver(source: string) {
  const inbox = createInbox({ prisma: client });
  const second = gate();
  const seen: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id } = verifyWebhook(body, request.headers as Record<string, string>, [SECRET]);
    seen.push(id);
    if (seen.length === 2) second.open();
    await inbox.receiveOnce({ source, eventId: id, payload: body }, (tx) => effect(tx, id));
    response.writeHead(204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, second: second.opened, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const relayTo = (name: string, url: string) => {
  const publisher = webhook({ url, secrets: [SECRET] });
  return outboxOn(client, [{ name, publisher, backoff: { baseMs: 1, capMs: 1 } }]);
};

async function expectOnce(ids: string[], destination: string): Promise<void> {
  expectCounted(await Promise.all(ids.map((id) => effects(client, id)))).toEqual(ids.map(() => 1));
  const rows = await client.outboxDelivery.findMany({ where: { destination }, orderBy: { sequence: 'asc' } });
  expect(rows.map(({ state, sequence }) => [state, sequence])).toEqual(ids.map((_, n) => ['delivered', BigInt(n + 1)]));
}

for (const round of ROUNDS) {
  test.each(['claimed', 'sent', 'acknowledged', 'marked'])(
    `kill -9 of the relay at "%s": each event arrives, in order, and takes effect once (${round})`,
    async (point) => {
      const name = `relay-${point}-${round}`;
      const { url, seen, second } = await receiver(name);
      const outbox = relayTo(name, url);
      const ids = await announce(client, outbox, name, EVENTS);
      const relay = child('relay', database.url, point, name, url, SECRET);
      expect(await relay.line()).toBe('there');
      if (point === 'sent') await second;
      await kill(relay.process);
      expect(await outbox.relayDue(), 'its lease is not over').toMatchObject({ delivered: 0 });
      await timePasses(client);
      await outbox.relayDue();
      expect([...new Set(seen)]).toEqual(ids);
      expect(seen.length, 'how often it was sent').toBe(EVENTS + (['sent', 'acknowledged'].includes(point) ? 1 : 0));
      await expectOnce(ids, name);
    },
  );

  test.each(['claimed', 'handled', 'committed', 'answered'])(
    `kill -9 of the consumer at "%s": each event takes effect once (${round})`,
    async (point) => {
      const name = `consumer-${point}-${round}`;
      const consumer = child('consumer', database.url, point, name);
      const port = await consumer.line();
      const outbox = relayTo(name, `http://127.0.0.1:${port}/`);
      const ids = await announce(client, outbox, name, EVENTS);
      const stop = new AbortController();
      const relaying = outbox.relayDue({ until: stop.signal });
      expect(await consumer.line()).toBe('there');
      stop.abort();
      await kill(consumer.process);
      await relaying;
      const { url } = await receiver(name);
      const after = relayTo(name, url);
      await timePasses(client);
      await after.relayDue();
      await expectOnce(ids, name);
    },
  );
}

test('kill -9 of a worker by an event counts for that event: it becomes a dead letter, and those beside it are processed', async () => {
  const source = 'poison';
  const handle = () => expect.unreachable();
  const inbox = createInbox({ prisma: client, sources: { [source]: { handle } }, attempts: 2, onReport: () => {} });
  const due = () => client.$executeRaw`
    UPDATE inbox_events SET next_attempt_at = received_at WHERE source = ${source} AND state = 'failed'`;
  for (const eventId of ['1-kills', '2-beside']) {
    await inbox.receiveOnce({ source, eventId, payload: {} }, () => Promise.reject(new Error('told to fail')));
  }
  await due();
  const worker = child('retry', database.url, '', source);
  expect(await worker.line()).toBe('there');
  const beside = { source_eventId: { source, eventId: '2-beside' } };
  await until('the other event is processed', async () => {
    return (await client.inboxEvent.findUnique({ where: beside }))?.state === 'processed';
  });
  await kill(worker.process);
  await due();
  expect(await inbox.retryDue()).toEqual({ taken: 1, processed: 0, failed: 0, dead: 1 });
  const rows = await client.inboxEvent.findMany({ where: { source }, orderBy: { eventId: 'asc' } });
  expect(rows.map(({ state, lastError }) => [state, lastError])).toEqual([
    ['dead', 'It was taken more often than it may be tried.'],
    ['processed', null],
  ]);
});
