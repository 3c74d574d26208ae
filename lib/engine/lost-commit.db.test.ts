import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { anything, effect, effects, freshKey, gate, kit, rowsOf } from '../integration/kit.fixture.ts';

let database: TestDatabase;
const closers: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(() => Promise.all(closers.splice(0).map((close) => close())));
afterAll(() => database?.drop());

type Loss = 'before the server sees it' | 'before its answer comes back';

/** Stands between client and server, and once cuts the connection at a statement that holds this text. The end of a
 * statement is a NUL: without it `COMMIT` would be found in `BEGIN ISOLATION LEVEL READ COMMITTED`. */
async function cuttingProxy(text: string, when: Loss) {
  const target = new URL(database.url);
  let cuts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket.on('error', () => {}));
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()));
    }
    let cutting = false;
    client.on('data', (bytes) => {
      if (cuts === 0 && bytes.includes(text)) {
        cuts++;
        if (when === 'before the server sees it') return void client.destroy();
        cutting = true;
      }
      upstream.write(bytes);
    });
    // The server has answered, so what it was told is done; the client never hears of it.
    upstream.on('data', (bytes) => void (cutting ? client.destroy() : client.write(bytes)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = Object.assign(new URL(database.url), {
    hostname: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
  }).href;
  const prisma = createClient(url, { max: 2 });
  closers.push(async () => {
    await prisma.$disconnect();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { prisma, cuts: () => cuts };
}

function counting(prisma: TestDatabase['client'], options: Parameters<typeof kit>[1] = {}) {
  let runs = 0;
  const operation = kit(prisma, options)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      return { run: ++runs };
    });
  return { operation, runs: () => runs };
}

describe('COMMIT that is lost with its connection', () => {
  test.each([
    ['before its answer comes back', 1, { replayed: true, data: { run: 1 } }],
    ['before the server sees it', 0, { replayed: false, data: { run: 2 } }],
  ] as const)('%s: executed is unknown, and the retry finds the truth', async (when, committed, answer) => {
    const { prisma, cuts } = await cuttingProxy('COMMIT\0', when);
    const { operation, runs } = counting(prisma);
    const key = freshKey();
    const lost = await operation.execute({ key, payload: {} });
    expect(lost).toMatchObject({
      ok: false,
      code: 'unavailable',
      executed: 'unknown',
      retry: 'same-key',
      retryAfterMs: expect.any(Number),
    });
    expectCounted([cuts(), await effects(database.client, key)]).toEqual([1, committed]);
    expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, ...answer });
    expectCounted([runs(), await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([
      2 - committed,
      1,
      1,
    ]);
  });

  test('C2 joiners of a starter in doubt ask the index themselves, and get the stored answer', async () => {
    const { prisma } = await cuttingProxy('COMMIT\0', 'before its answer comes back');
    const { operation, runs } = counting(prisma);
    const key = freshKey();
    const [starter, ...joiners] = await Promise.all([1, 2, 3].map(() => operation.execute({ key, payload: {} })));
    expect(starter).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    for (const joiner of joiners) expect(joiner).toMatchObject({ ok: true, replayed: true, data: { run: 1 } });
    expect(runs()).toBe(1);
  });

  test('a joiner of a starter in doubt that finds no row proves nothing, whatever it says of its attempt', async () => {
    const { prisma } = await cuttingProxy('COMMIT\0', 'before the server sees it');
    let admitted = 0;
    const operation = kit(prisma)
      .operation({ name: 'checkout', schema: anything, admit: () => ++admitted === 1 || 60_000 })
      .handler(async ({ tx, key }) => effect(tx, key));
    const key = freshKey();
    const [starter, joiner] = await Promise.all([1, 2].map(() => operation.execute({ key, payload: {}, attempt: 1 })));
    expect(starter).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expect(joiner).toMatchObject({ code: 'rate_limited', executed: 'unknown' });
  });

  test('afterCommit does not run in doubt', async () => {
    const { prisma } = await cuttingProxy('COMMIT\0', 'before its answer comes back');
    let after = 0;
    const operation = kit(prisma)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ afterCommit }) => afterCommit(() => void after++));
    await operation.execute({ key: freshKey(), payload: {} });
    expect(after).toBe(0);
  });

  test.each(['before the server sees it', 'before its answer comes back'] as const)(
    'C6 a connection that breaks at the completion, %s: nothing is claimed that is not known, and one effect remains',
    async (when) => {
      const isPlain = process.env.POOL === 'plain';
      const { prisma, cuts } = await cuttingProxy(
        isPlain ? 'UPDATE idempotency_keys' : 'greatest(clock_timestamp(), $11',
        when,
      );
      const { operation, runs } = counting(prisma);
      const key = freshKey();
      // On its own it was not committed, for certain. Sent together with COMMIT, that may have arrived.
      const executed = isPlain ? false : 'unknown';
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', executed });
      const committed = await effects(database.client, key);
      expect([cuts(), committed]).toEqual([1, when === 'before the server sees it' ? 0 : expect.any(Number)]);
      const retried = await operation.execute({ key, payload: {}, attempt: 2 });
      expect(retried).toMatchObject({ ok: true, replayed: committed === 1 });
      expectCounted([runs(), await effects(database.client, key)]).toEqual([2 - committed, 1]);
    },
  );
});

describe('C6 a database that cannot be reached', () => {
  const nowhere = () => {
    const prisma = createClient('postgresql://postgres@127.0.0.1:1/none');
    closers.push(() => prisma.$disconnect());
    return counting(prisma);
  };

  test('C6 what is said to be the first attempt executed nothing; of any other that is unknown', async () => {
    const { operation, runs } = nowhere();
    const refusal = {
      ok: false,
      code: 'unavailable',
      retry: 'same-key',
      retryAfterMs: expect.any(Number),
      nextKey: expect.any(String),
    };
    const key = freshKey();
    expect(await operation.execute({ key, payload: {}, attempt: 1 })).toMatchObject({
      ...refusal,
      executed: false,
      key,
    });
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ...refusal, executed: 'unknown' });
    expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({
      ...refusal,
      executed: 'unknown',
    });
    expect(runs()).toBe(0);
  });

  test('C6 status and fence are unavailable too: nobody is told that a key is free', async () => {
    const { operation } = nowhere();
    const refusal = { ok: false, code: 'unavailable', executed: 'unknown' };
    expect(await operation.status({ key: freshKey() })).toMatchObject(refusal);
    expect(await operation.fence({ key: freshKey() })).toMatchObject(refusal);
  });

  test('C6 a retry whose validation fails is not judged without the row', async () => {
    const prisma = createClient('postgresql://postgres@127.0.0.1:1/none');
    closers.push(() => prisma.$disconnect());
    const schema = anything.refine(() => false);
    const operation = kit(prisma)
      .operation({ name: 'checkout', schema })
      .handler(async () => 1);
    expect(await operation.execute({ key: freshKey(), payload: {}, attempt: 2 })).toMatchObject({
      code: 'unavailable',
      executed: 'unknown',
    });
  });

  test('H4 a spent deadline is unavailable, and nothing was executed', async () => {
    const { operation } = counting(database.client, {});
    const late = gate();
    const slow = kit(database.client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        await late.opened;
        await effect(tx, key);
      });
    const key = freshKey();
    expect(await slow.execute({ key, payload: {}, deadlineMs: 100 })).toMatchObject({
      code: 'unavailable',
      executed: false,
      retry: 'same-key',
    });
    late.open();
    expectCounted(await effects(database.client, key)).toBe(0);
    expect(await operation.execute({ key, payload: {}, attempt: 2, deadlineMs: 5000.5 })).toMatchObject({
      ok: true,
      replayed: false,
    });
  });
});

describe('what is no fault of the database', () => {
  test.each([
    [
      'a refused connection to another service',
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    ],
    ['words that a driver might use', new Error('Connection terminated by the payment provider')],
  ])('S2 %s that the handler throws is `internal`, and is reported', async (_, error) => {
    const told: unknown[] = [];
    const operation = kit(database.client, { onError: (thrown) => void told.push(thrown) })
      .operation({ name: 'checkout', schema: anything })
      .handler(() => Promise.reject(error));
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({
      code: 'internal',
      executed: false,
    });
    expect(told).toEqual([error]);
  });
});
