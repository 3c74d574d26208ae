import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { createAdmin } from '../../../admin/admin.ts';
import { anything, effect, effects, freshKey, HOUR, kit, rowsOf, type Tx } from '../../../integration/kit.fixture.ts';
import { PublishError } from '../../../messaging/destination.ts';
import { announce, destination, outboxOn } from '../../../messaging/messaging.fixture.ts';
import { createInbox } from '../../../messaging/prisma.ts';
import { orderWithRefund } from '../ambient/ambient.fixture.ts';
import { prismaStore } from '../store.ts';

/** Clients that do with their transactions what the pool does not expect. */

const isPlain = process.env.POOL === 'plain';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
});
afterAll(() => database?.drop());

async function expectOneOrder(client: Client, key: string) {
  let runs = 0;
  const operation = kit(client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx }) => {
      await effect(tx, key);
      return { run: ++runs };
    });
  const told = await operation.execute({ key, payload: {} });
  expect(told).toMatchObject({ ok: true, replayed: false, data: { run: runs } });
  expectCounted(await effects(database.client, key)).toBe(1);
  expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded', result: expect.any(String) }]);
}

test('a completion that fails the first time: the server has kept its statement, and the next execution can keep it, too', async () => {
  const client = createClient(database.url, { max: 1 });
  try {
    await client.$executeRawUnsafe(`ALTER TABLE idempotency_keys ADD CHECK (result NOT LIKE '%refused%')`);
    const failing = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'refused');
    expect(await failing.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: false, executed: false });
    let runs = 0;
    const next = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        return ++runs;
      });
    expect(await next.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true, data: 1 });
  } finally {
    await client.$disconnect();
  }
});

test('a client with an isolation level of its own: the operation’s is in force, and claim and completion travel with BEGIN and COMMIT', async () => {
  const transactionOptions = { isolationLevel: 'Serializable' as const };
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  let pipelines = 0;
  pool.on('connect', (connection) => {
    const query = connection.query.bind(connection) as (config: object, ...rest: unknown[]) => unknown;
    connection.query = ((config: object, ...rest: unknown[]) => {
      if ('submit' in config) pipelines++;
      return query(config, ...rest);
    }) as typeof connection.query;
  });
  const client = createClient(database.url, { pool, transactionOptions });
  try {
    let level = '';
    const operation = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        await tx.order.create({ data: orderWithRefund(key) }); // which Prisma begins a transaction for
        [{ level }] = await tx.$queryRawUnsafe<[{ level: string }]>(
          `SELECT current_setting('transaction_isolation') AS level`,
        );
      });
    await operation.execute({ key: freshKey(), payload: {} }); // the first of a client looks at its pool
    pipelines = 0;
    for (let n = 0; n < 5; n++) {
      expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true, replayed: false });
      expect(level).toBe('read committed');
    }
    if (!isPlain) expect(pipelines).toBe(5 * 2); // with BEGIN, and with COMMIT
    // Somebody else's transaction has what the client asks for.
    const own = await client.$transaction((tx) =>
      tx.$queryRawUnsafe<[{ level: string }]>(`SELECT current_setting('transaction_isolation') AS level`),
    );
    expect(own).toEqual([{ level: 'serializable' }]);
  } finally {
    await client.$disconnect();
  }
});

// A `$transaction` of the client's own is Prisma's transaction on each pool: `own-client-pool`.
if (isPlain)
  describe('a client with a $transaction of its own', () => {
    type Transact = (run: (tx: Tx) => Promise<unknown>, options: object) => Promise<unknown>;

    /** The client with another `$transaction`, as an extension can give it one. */
    function extended($transaction: Transact): Client {
      return new Proxy(database.client, {
        get: (client, name, receiver) => (name === '$transaction' ? $transaction : Reflect.get(client, name, receiver)),
      });
    }

    test('another transaction first: it is committed as it was, and the key is claimed in its own', async () => {
      const first = freshKey();
      const client = extended(async (run, options) => {
        await database.client.$transaction(async (tx) => {
          await effect(tx, first);
          expect(await tx.idempotencyKey.count({ where: { state: 'in_progress' } })).toBe(0);
        });
        return await database.client.$transaction(run, options);
      });
      await expectOneOrder(client, freshKey());
      expectCounted(await effects(database.client, first)).toBe(1);
    });

    test('a transaction that is tried again: the one that commits has claim, effect and answer', async () => {
      const client = extended(async (run, options) => {
        const failing = async (tx: Tx) => {
          await run(tx);
          throw new Error('tried again');
        };
        await expect(database.client.$transaction(failing, options)).rejects.toThrow('tried again');
        return await database.client.$transaction(run, options);
      });
      await expectOneOrder(client, freshKey());
    });

    test('a client that does something first in each transaction: never a claim without its effect', async () => {
      const client = extended((run, options) =>
        database.client.$transaction(async (tx) => {
          await tx.$queryRawUnsafe(`SELECT set_config('app.tenant', 'acme', true)`);
          return await run(tx as Tx);
        }, options),
      );
      for (let n = 0; n < 5; n++) await expectOneOrder(client, freshKey());
    });

    test('a client that swallows an error and commits: that is a rollback, and told as one', async () => {
      const client = extended((run, options) =>
        database.client.$transaction(async (tx) => {
          await run(tx as Tx).catch(() => {});
        }, options),
      );
      const key = freshKey();
      const operation = kit(client)
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx }) => {
          await effect(tx, key);
          throw new Error('swallowed');
        });
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: false, executed: false });
      expectCounted([await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([0, []]);
    });
  });

// Elsewhere the kit begins the transaction, in the level that it wants.
if (isPlain)
  test('a database whose level is another one: no handler runs in it, and it is set at once from the second execution on', async () => {
    const sent: string[] = [];
    const client = database.client.$extends({
      query: {
        $queryRawUnsafe: ({ args, query }) => {
          sent.push(...(/SET TRANSACTION|INSERT INTO idempotency_keys/.exec(args[0]) ?? []));
          return query(args);
        },
      },
    });
    const levels: unknown[] = [];
    const operation = kit(client as never)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        levels.push(...(await tx.$queryRawUnsafe<unknown[]>('SHOW transaction_isolation')));
        await effect(tx, key);
      });
    const setDefault = (level: string) =>
      database.client.$executeRawUnsafe(
        `ALTER ROLE CURRENT_USER IN DATABASE "${new URL(database.url).pathname.slice(1)}" SET default_transaction_isolation = '${level}'`,
      );
    const key = freshKey();
    await operation.execute({ key: freshKey(), payload: {} });
    await setDefault('serializable');
    await database.client.$disconnect(); // its next connections have the new default
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true, replayed: false });
    await setDefault('read committed');
    await database.client.$disconnect();
    const [set, claim] = ['SET TRANSACTION', 'INSERT INTO idempotency_keys'];
    expect(sent).toEqual([claim, claim, set, claim, set, claim]);
    expect(levels).toEqual(Array.from({ length: 3 }, () => ({ transaction_isolation: 'read committed' })));
    expectCounted([await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([1, 1]);
  });

test('a connection on which somebody has left a transaction open: rolled back, and tried again', async () => {
  const client = createClient(database.url, { max: 1 });
  try {
    const left = freshKey();
    await client.$executeRawUnsafe('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await effect(client, left);
    await expectOneOrder(client, freshKey());
    expectCounted(await effects(database.client, left)).toBe(0);
  } finally {
    await client.$disconnect();
  }
});

test('a session that writes bytes in another way, and one that forgets what it keeps: the answer is replayed', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await database.client.$executeRawUnsafe(`ALTER DATABASE "${name}" SET bytea_output = 'escape'`);
  const client = createClient(database.url, { max: 1 });
  try {
    await expectOneOrder(client, freshKey()); // from here on reads go through the pool
    const key = freshKey();
    await expectOneOrder(database.client, key);
    const operation = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'never');
    const replayed = { ok: true, replayed: true, data: { run: 1 } };
    expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject(replayed);
    await client.$executeRawUnsafe('DISCARD ALL');
    const again = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'never');
    expect(await again.execute({ key, payload: {}, attempt: 2 })).toMatchObject(replayed);
  } finally {
    await client.$disconnect();
    await database.client.$executeRawUnsafe(`ALTER DATABASE "${name}" RESET bytea_output`);
  }
});

test('sessions with another time zone, or another way to write times: a key is neither early nor late, and says until when', async () => {
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of [
    ['timezone', 'America/New_York'],
    ['timezone', 'Asia/Tokyo'],
    ['datestyle', 'German'],
    ['datestyle', 'SQL, DMY'],
  ]) {
    await database.client.$executeRawUnsafe(`ALTER DATABASE "${name}" SET ${setting} = '${value}'`);
    const client = createClient(database.url, { max: 1 });
    try {
      const operation = kit(client, { window: '1h' })
        .operation({ name: 'checkout', schema: anything })
        .handler(async () => 'there');
      const key = (await operation.mintKey({ tenant: 'acme', principal: 'ann' })) as string;
      const first = await operation.run({ key, payload: {} });
      expect(first.outcome).toMatchObject({ ok: true, replayed: false });
      const stored = kit(client)
        .operation({ name: 'checkout', schema: anything })
        .handler(async () => 'never');
      expect(await stored.run({ key, payload: {} })).toMatchObject({
        outcome: { replayed: true },
        expiresAt: first.expiresAt,
      });
      expect(Number(first.expiresAt) - Date.now()).toBeGreaterThan(HOUR);
      const late = (await operation.mintKey({ tenant: 'acme', principal: 'ann' })) as string;
      expect(await operation.fence({ key: late })).toMatchObject({ fenced: true });
    } finally {
      await client.$disconnect();
      await database.client.$executeRawUnsafe(`ALTER DATABASE "${name}" RESET ${setting}`);
    }
  }
});

/** All times in it, by where they stand. */
function timesIn(value: unknown, at = ''): [string, Date][] {
  if (value instanceof Date) return [[at, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => timesIn(part, `${at}.${name}`));
}

test.each([
  ['timezone', 'America/New_York'],
  ['datestyle', 'German'],
])('sessions with %s %s: each time that is told of keys and messages is the time it was', async (setting, value) => {
  const name = new URL(database.url).pathname.slice(1);
  const setUp = `ALTER DATABASE "${name}"`;
  await database.client.$executeRawUnsafe(`${setUp} SET ${setting} = '${value}'`);
  const client = createClient(database.url, { max: 4 });
  const key = freshKey();
  try {
    const checkout = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .phases(async (run) => {
        await run.atomic('ordered', async () => {});
        const send = () => Promise.reject(new Error('no answer'));
        await run.foreign('charged', { arguments: null, send, indeterminate: 'unknown', maxTries: 1 });
      });
    await checkout.execute({ key, payload: {} });
    await checkout.execute({ key, payload: { other: true } });
    const admin = createAdmin({ prisma: client });
    const store = prismaStore(client);
    await store.addTallies([{ operation: 'checkout', outcome: 'replayed', count: 1 }]);
    const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key };
    const detail = await admin.findKey(id);
    await admin.fence({ ...id, key: freshKey() }, 'ann');
    const sink = destination('sink', { attempts: 1 });
    sink.behave = ({ sequence }) => {
      throw new PublishError('gone', sequence === 2 ? { next: 'stop' } : {});
    };
    const outbox = outboxOn(client, [sink.route]);
    const [eventId] = await announce(client, outbox, key);
    await outbox.relayDue();
    await outbox.skip({ destination: 'sink', eventId: eventId as string }, 'ann');
    await announce(client, outbox, key);
    await outbox.relayDue();
    const inbox = createInbox({ prisma: client, onReport: () => {} });
    const event = { source: 'bank', eventId: key, payload: 1 };
    await inbox.receiveOnce(event, () => Promise.reject(Error()));
    const again = await inbox.receiveOnce({ ...event, payload: 2 }, async () => {});
    expect(again).toMatchObject({ kind: 'failed', retryAfterMs: expect.closeTo(0, -5) });
    const told = {
      detail: { ...detail, expiresAt: null },
      counted: [await store.countOpen(0), await store.tallies(new Date(0)), await store.databaseFacts()],
      overview: await admin.overview(),
      audit: await admin.audit({ limit: 10, offset: 0 }),
      sent: sink.sent,
      event: await outbox.find(eventId as string),
      deliveries: await outbox.list({ limit: 10, offset: 0 }),
      stops: await outbox.stops(),
      open: [await outbox.open(), await inbox.open()],
      received: [await inbox.find(event), await inbox.list({ limit: 10, offset: 0 })],
    };
    const times = timesIn(told);
    const wrong = times.filter(([, at]) => !(Math.abs(at.getTime() - Date.now()) < HOUR / 4));
    expect(wrong).toEqual([]);
    expect(times.length).toBeGreaterThan(20);
    const quick = kit(client)
      .operation({ name: 'quick', schema: anything })
      .handler(async () => {});
    for (let n = 0; n < 3; n++) await quick.execute({ key: freshKey(), payload: {} });
    await client.$executeRaw`UPDATE idempotency_keys SET expires_at = claimed_at WHERE operation = 'quick'`;
    expect([await store.reapKeys(2), await store.reapKeys(2)]).toEqual([2, 1]);
  } finally {
    await client.$disconnect();
    await database.client.$executeRawUnsafe(`${setUp} RESET ${setting}`);
  }
});
