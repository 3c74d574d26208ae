import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import {
  anything,
  effect,
  effects,
  freshKey,
  gate,
  kit,
  rowsOf,
  type Tx,
  watchOf,
} from '../../../integration/kit.fixture.ts';
import { orderWithRefund } from '../ambient/ambient.fixture.ts';
import { outside } from '../async-context.ts';

/**
 * This must hold however BEGIN, claim, completion and COMMIT travel. Runs twice, like every test of the engine and of the
 * store: on a client whose pool is ours (`db-pool`), and on a plain one (`db-plain`).
 */

const isPlain = process.env.POOL === 'plain';

let database: TestDatabase;
let watch: Awaited<ReturnType<typeof watchOf>>;
const clients: Client[] = [];
beforeAll(async () => {
  database = await testDatabase({ max: 5, ownsTables: true });
  watch = await watchOf(database.url);
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.$disconnect()));
});
afterAll(async () => {
  await watch?.close();
  await database?.drop();
});

/** A client of its own, with this many connections. */
function another(max: number, url = database.url): Client {
  const client = createClient(url, { max });
  clients.push(client);
  return client;
}

/** One whose pool is as Prisma makes it, whatever the others have. */
function plainOne(): Client {
  vi.stubEnv('POOL', 'plain');
  const client = another(3);
  vi.unstubAllEnvs();
  return client;
}

describe('isolation levels', () => {
  const shown = async (db: Pick<Tx, '$queryRawUnsafe'>) =>
    (await db.$queryRawUnsafe<[{ level: string }]>(`SELECT current_setting('transaction_isolation') AS level`))[0]
      .level;

  test.each([
    [undefined, 'read committed', [0, 1]],
    ['ReadCommitted', 'read committed', [0, 1]],
    ['RepeatableRead', 'repeatable read', [0, 0]],
    ['Serializable', 'serializable', [0, 0]],
  ] as const)('%s is in force in the handler, and not behind it', async (isolationLevel, level, seen) => {
    const client = another(1);
    // What the server would do by itself must not matter: the claim needs to see what was committed while it waited.
    await watch.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}"
                       SET default_transaction_isolation = '${level === 'serializable' ? 'read committed' : 'serializable'}'`);
    const key = freshKey();
    const operation = kit(client)
      .operation({ name: 'checkout', schema: anything, ...(isolationLevel ? { isolationLevel } : {}) })
      .handler(async ({ tx }) => {
        const before = await tx.auditRecord.count({ where: { action: key } });
        await outside(() => effect(database.client, key)); // committed by somebody else meanwhile
        return [await shown(tx), before, await tx.auditRecord.count({ where: { action: key } })];
      });
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: [level, ...seen] });
    // The only connection, back in the pool, as the server makes it.
    expect(await shown(client)).toBe(level === 'serializable' ? 'read committed' : 'serializable');
    await watch.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}"
                       RESET default_transaction_isolation`);
  });
});

// `ambient-extensions` asks more of this on our pool.
if (isPlain)
  describe('an extended client', () => {
    test('its query, model and result extensions work in the handler, within the transaction of the key', async () => {
      const asked: string[] = [];
      const extended = database.client.$extends({
        query: {
          $allOperations: async ({ operation, args, query }) => {
            asked.push(operation);
            await new Promise((resolve) => setImmediate(resolve)); // as one does that asks somebody first
            return await query(args);
          },
          auditRecord: {
            create: ({ args, query }) => query({ ...args, data: { ...args.data, principal: 'extended' } }),
          },
        },
        model: { auditRecord: { of: (action: string) => ({ where: { action } }) } },
        result: {
          auditRecord: { loud: { needs: { action: true }, compute: ({ action }) => action.toUpperCase() } },
        },
      });
      const operation = createOn(extended as never, async (tx: never, key: string, isRefused: boolean) => {
        const own = tx as Parameters<Parameters<typeof extended.$transaction>[0]>[0];
        const { loud } = await own.auditRecord.create({ data: { action: key, tenant: 't', principal: 'p' } });
        const [found] = await own.auditRecord.findMany(own.auditRecord.of(key));
        if (isRefused) throw new Error('rolled back');
        return [loud, found?.principal];
      });
      const key = freshKey();
      expect(await operation.execute({ key, payload: { isRefused: true } })).toMatchObject({ executed: false });
      expectCounted(await effects(database.client, key)).toBe(0);
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ data: [key.toUpperCase(), 'extended'] });
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true });
      expectCounted([await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([1, 1]);
      expect(asked).toContain('create');
    });

    function createOn(client: Client, run: (tx: never, key: string, isRefused: boolean) => Promise<unknown>) {
      return kit(client, { window: '1h' })
        .operation({ name: 'checkout', schema: anything, fingerprint: () => ({}) })
        .handler(async ({ tx, key, input }) => (await run(tx as never, key, input.isRefused === true)) as string[]);
    }
  });

describe('executions at once in one process', () => {
  test('200 over 5 connections never cross: each key has its own answer, its own order, or nothing', async () => {
    const { client } = database;
    const patient = { maxWait: 20_000, timeout: 20_000 };
    const operation = kit(client, { waitMs: 1000 })
      .operation({ name: 'crowd', schema: anything, maxWaitMs: 20_000, timeoutMs: 20_000 })
      .handler(async ({ tx, key, input, fail }) => {
        const { id } = await tx.order.create({ data: { ...orderWithRefund(key), idempotencyKey: key } });
        const db = isPlain ? (tx as Client) : client; // by its global name, where that is in the transaction
        const own = await Promise.all([
          db.order.findUnique({ where: { id } }),
          db.$transaction((inner) => inner.order.findUnique({ where: { id } })),
        ]);
        if (own.some((found) => found?.id !== id)) throw new Error('another one’s');
        if ((input.n as number) % 5 === 1) throw new Error('rolled back');
        if ((input.n as number) % 5 === 2) return fail('refused', { order: id });
        return { order: id };
      });
    const wanted = Array.from({ length: 200 }, (_, n) => ({ n, key: `crowd-${n}` }));
    // Beside them: transactions, lists and queries that have nothing to do with a key.
    const beside = Array.from({ length: 60 }, async (_, n) => {
      if (n % 3 === 0) await client.$transaction((tx) => effect(tx, 'beside'), patient);
      if (n % 3 === 1) await client.$transaction([client.auditRecord.count(), client.order.count()], patient);
      if (n % 3 === 2) await client.product.findUnique({ where: { sku: 'mug' } });
    });
    const told = await Promise.all(wanted.map(({ n, key }) => operation.execute({ key, payload: { n } })));
    await Promise.all(beside);

    const rows = await client.idempotencyKey.findMany({ where: { operation: 'crowd' } });
    const orders = await client.order.findMany({
      where: { idempotencyKey: { startsWith: 'crowd-' } },
      include: { refunds: true },
    });
    expectCounted([rows.length, orders.length, await effects(client, 'beside')]).toEqual([160, 160, 20]);
    for (const { n, key } of wanted) {
      const row = rows.find((each) => each.key === key);
      const own = orders.filter((order) => order.idempotencyKey === key);
      const outcome = told[n];
      if (n % 5 === 1) {
        expect([outcome, row, own]).toMatchObject([{ code: 'internal', executed: false }, undefined, []]);
        continue;
      }
      const data = { order: own[0]?.id };
      expect(outcome).toMatchObject(n % 5 === 2 ? { code: 'failed', data } : { ok: true, replayed: false, data });
      expect([own.map(({ refunds }) => refunds.length), row?.state]).toEqual([
        [1],
        n % 5 === 2 ? 'failed' : 'succeeded',
      ]);
      expect(row?.result).toContain(own[0]?.id);
    }
  });

  test('two clients, one of them with a plain pool: of each key one executes', async () => {
    let runs = 0;
    const [one, two] = [database.client, plainOne()].map((client) =>
      kit(client)
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx, key }) => {
          await effect(tx, key);
          return ++runs;
        }),
    );
    const keys = Array.from({ length: 20 }, freshKey);
    for (const key of keys) {
      const [first, second] = await Promise.all([one, two].map((each) => each?.execute({ key, payload: {} })));
      expect([first, second]).toMatchObject([{ ok: true }, { ok: true, data: first?.ok ? first.data : undefined }]);
      expectCounted([await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([1, 1]);
    }
    expect(runs).toBe(20);
  });
});

// On our pool all of it is in the handler's transaction: `ambient*.db.test.ts`.
if (isPlain)
  describe('what else the handler asks of the database', () => {
    test('a client of another database gets no claim, and is not asked for the key afterwards', async () => {
      const elsewhere = await testDatabase({ ownsTables: true });
      // Counts tries: a sequence does not take back what is rolled back.
      await elsewhere.client.$executeRawUnsafe('CREATE SEQUENCE tries');
      await elsewhere.client.$executeRawUnsafe(
        `CREATE FUNCTION try() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'); RETURN NEW; END $$`,
      );
      await elsewhere.client.$executeRawUnsafe(
        'CREATE TRIGGER try BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION try()',
      );
      const key = freshKey();
      const operation = kit(database.client)
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx }) => {
          await effect(tx, key);
          await outside(() => elsewhere.client.$transaction((beside) => effect(beside, key)));
          return 'there';
        });
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true });
      expect(await elsewhere.client.$queryRawUnsafe('SELECT is_called FROM tries')).toEqual([{ is_called: false }]);
      expect(await operation.status({ key })).toMatchObject({ state: 'succeeded' });
      expectCounted([await effects(database.client, key), await effects(elsewhere.client, key)]).toEqual([1, 1]);
      await elsewhere.drop();
    });

    test('a transaction nested in its own is a savepoint: what fails in it goes, the rest commits with the key', async () => {
      const key = freshKey();
      const operation = kit(another(1))
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx }) => {
          await effect(tx, key);
          const nested = (run: (inner: Tx) => Promise<unknown>) => (tx as Client).$transaction(run);
          await nested((inner) => effect(inner, `${key} kept`));
          const gone = nested(async (inner) => {
            await effect(inner, `${key} gone`);
            await inner.$queryRawUnsafe('SELECT 1/0');
          });
          return await gone.then(
            () => 'it did not fail',
            () => 'recovered',
          );
        });
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'recovered' });
      const count = (name: string) => effects(database.client, `${key}${name}`);
      expect([await count(''), await count(' kept'), await count(' gone')]).toEqual([1, 1, 0]);
      expect(await operation.execute({ key, payload: {} })).toMatchObject({ replayed: true, data: 'recovered' });
    });
  });

describe('a pool that has no connection to give', () => {
  test('C6 the execution is refused in time, leaves nothing behind, and the key is free', async () => {
    const client = another(1);
    const held = { inside: gate(), end: gate() };
    const patience = (maxWaitMs: number) =>
      kit(client)
        .operation({ name: 'checkout', schema: anything, maxWaitMs })
        .handler(async ({ tx, key, input }) => {
          await effect(tx, key);
          if (!input.holds) return 'quick';
          held.inside.open();
          await held.end.opened;
          return 'slow';
        });
    const [patient, impatient] = [patience(20_000), patience(100)];
    const [slow, quick] = [freshKey(), freshKey()];
    const holding = patient.execute({ key: slow, payload: { holds: true } });
    await held.inside.opened;
    expect(await impatient.execute({ key: quick, payload: {}, attempt: 1 })).toMatchObject({
      code: 'unavailable',
      executed: false,
    });
    held.end.open();
    expect(await holding).toMatchObject({ ok: true, data: 'slow' });
    // The connection that came too late has claimed nothing that stays.
    expect(await patient.execute({ key: quick, payload: {}, attempt: 2, waitMs: 5000 })).toMatchObject({
      ok: true,
      replayed: false,
    });
    expectCounted([await effects(client, slow), await effects(client, quick)]).toEqual([1, 1]);
    await watch.untilIdle();
  });
});
