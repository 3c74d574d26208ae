import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { until } from '../../../scripts/testing/until.ts';
import { createClient } from '../../../shop/db.ts';
import { PrismaPg } from '../../adapter-pg/index.ts';
import { joinTransaction } from '../../admin/admin.ts';
import { skipTime } from '../../integration/skip-time.fixture.ts';
import { claimOf, DONE, HOW } from '../contract-harness.fixture.ts';
import { storeOf } from './prisma-harness.fixture.ts';
import { prismaStore } from './store.ts';
import { QUESTION_MS, withTimeout } from './timeouts.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
});
afterAll(() => database?.drop());

test('what the server refuses as it commits is not told as done', async () => {
  const store = storeOf(database.client);
  const claim = claimOf();
  const note = (actor: string) => store.recordEvent(claim, { type: 'late_answer', actor, detail: null });
  await note('before');
  await database.client.$executeRawUnsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$`);
  await database.client.$executeRawUnsafe(`
    CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON idempotency_events DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse()`);
  await expect(note('behind')).rejects.toThrow('not today');
  expect((await store.events(claim)).map(({ actor }) => actor)).toEqual(['before']);
});

/** Stands between client and server. What it holds back it lets through later. */
async function holdingProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const clients: Socket[] = [];
  let isHolding = true;
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.on('data', (bytes) => upstream.write(bytes)).on('close', () => upstream.destroy());
    upstream.pipe(client);
    if (!isHolding) client.resume();
    clients.push(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  const hold = (on: boolean) => {
    isHolding = on;
    for (const client of clients) on ? client.pause() : client.resume();
  };
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    isMet: async () => clients.length > 0,
    hold: () => hold(true),
    release: () => hold(false),
  };
}

/** All that is late by now has been told so. */
const untilTold = () => withTimeout(new Promise(() => {}), 0).catch(() => {});

/** The next question has three seconds. */
async function expectNoMore(store: Pick<ReturnType<typeof storeOf>, 'find'>): Promise<void> {
  const found = store.find(claimOf());
  skipTime(QUESTION_MS);
  await expect(found).rejects.toThrow(`The database did not answer within ${QUESTION_MS} ms.`);
}

/** A client with one connection. */
function clientAt(url: string, Adapter: typeof PlainPg = PrismaPg) {
  const client = createClient(url, { adapter: new Adapter({ connectionString: url, max: 1 }) });
  onTestFinished(() => client.$disconnect());
  return client;
}

describe.each([
  ['oncekit/adapter-pg', PrismaPg],
  ['Prisma’s own adapter', PlainPg],
])('the time of a question, on %s', (_, Adapter) => {
  test('the first of a client has more: engine and connection begin in it', async () => {
    const proxy = await holdingProxy(database.url);
    const store = storeOf(clientAt(proxy.url, Adapter));
    const first = store.find(claimOf());
    await until('it connects', proxy.isMet);
    skipTime(QUESTION_MS + 1000);
    await untilTold();
    proxy.release();
    expect(await first).toBeUndefined();

    proxy.hold();
    onTestFinished(proxy.release); // Prisma's own pool waits at its end for a connection that is in use
    await expectNoMore(store);
  });

  test('a transaction that is joined has none: its client has begun it', async () => {
    const proxy = await holdingProxy(database.url);
    proxy.release();
    await clientAt(proxy.url, Adapter).$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1`;
      proxy.hold();
      await expectNoMore(prismaStore(joinTransaction(tx))).finally(proxy.release);
    });
  });

  test('what is said: not reached or refused, and after how long, or that no time was left', async () => {
    const store = storeOf(clientAt('postgresql://127.0.0.1:1/nobody', Adapter));
    await expect(store.find(claimOf())).rejects.toThrow(/^The database could not be reached, after [1-9]\d* ms\.$/);
    await expect(storeOf(clientAt(`${database.url}_gone`, Adapter)).find(claimOf())).rejects.toThrow(
      /^The database answered that it cannot be asked now, after [1-9]\d* ms\.$/,
    );
    const over = store.until(performance.now() - 1);
    await expect(over.find(claimOf())).rejects.toThrow('The time was over before the database was asked.');
  });
});

test('an execution of the client was its first', async () => {
  const proxy = await holdingProxy(database.url);
  proxy.release();
  const client = clientAt(proxy.url);
  expect(await storeOf(client).execute(claimOf(), async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
  proxy.hold();
  onTestFinished(proxy.release);
  await expectNoMore(storeOf(client));
});

test('what is said where all connections are in use', async () => {
  const client = clientAt(database.url);
  const store = storeOf(client);
  await store.find(claimOf());
  await client.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    const found = store.find(claimOf());
    skipTime(QUESTION_MS);
    await expect(found).rejects.toThrow(/^No connection was to be had of the pool within \d+ ms\.$/);
  });
});
