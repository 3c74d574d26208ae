import { afterEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../shop/db.ts';
import { Provider } from '../../engine/phases/phases.fixture.ts';
import { anything, effect, freshKey, gate, kit } from '../../integration/kit.fixture.ts';
import { AT_COMMIT, ended, execute, orderWithRefund, pidOf, stage } from './ambient/ambient.fixture.ts';
import { outside } from './async-context.ts';

/**
 * What a handler asks past the transaction that it has, on both ways: on the kit's pool the client by its global name is in that
 * transaction, in one of Prisma's it is not, and is refused where it writes.
 */

const isPlain = process.env.POOL === 'plain';
const here = stage({ ownsTables: true });
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });
const closed = { name: 'ExecutionClosedError' };
const past = (method: string) => ({
  name: 'IdempotencyError',
  message: expect.stringContaining(`${method} would not have been in the transaction of its execution`),
});

afterEach(() => vi.unstubAllEnvs());

const WRITES: [string, (db: Client, action: string) => PromiseLike<unknown>][] = [
  ['auditRecord.create', (db, action) => db.auditRecord.create(data(action))],
  ['auditRecord.createManyAndReturn', (db, action) => db.auditRecord.createManyAndReturn(data(action))],
  ['order.create', (db, action) => db.order.create({ data: orderWithRefund(action) })],
  [
    '$executeRaw',
    (db, action) => db.$executeRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${action}, 't', 'p')`,
  ],
  [
    '$queryRaw',
    (db, action) =>
      db.$queryRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${action}, 't', 'p') RETURNING 1 AS one`,
  ],
  ['auditRecord.create', (db, action) => db.$transaction((within) => within.auditRecord.create(data(action)))],
  ['auditRecord.create', (db, action) => db.$transaction([db.product.count(), db.auditRecord.create(data(action))])],
];

const rows = async (action: string) =>
  (
    await here.watch.query(
      `SELECT count(*)::int AS n FROM (SELECT 1 FROM audit_records WHERE action = $1
       UNION ALL SELECT 1 FROM orders WHERE principal = $1) AS found`,
      [action],
    )
  ).rows[0].n;

describe('by the client’s global name', () => {
  test.each(WRITES)('%s leaves nothing where the handler throws, as often as a form tries', async (method, write) => {
    const key = freshKey();
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { outcome, error } = await execute(
        here.client,
        async ({ tx }) => {
          await effect(tx, key);
          await write(here.client, key);
          throw new Error('boom');
        },
        { key, attempt },
      );
      expect([outcome, error]).toMatchObject([
        { executed: false, retry: 'same-key' },
        isPlain ? past(method) : { message: 'boom' },
      ]);
    }
    expectCounted([await rows(key), await here.counted(key)]).toEqual([0, [0, 0]]);
  });

  test.each(WRITES)('%s is never half of a success, and stays by itself outside', async (method, write) => {
    const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
      await effect(tx, `${key}-tx`);
      const refused = await ended(write(here.client, key));
      if (isPlain) expect(refused).toMatchObject(past(method));
      await outside(() => write(here.client, `${key}-outside`));
      return 'done';
    });
    expect(outcome).toMatchObject({ ok: true, data: 'done' });
    expectCounted([await rows(key), await rows(`${key}-tx`), await rows(`${key}-outside`)]).toEqual([
      isPlain ? 0 : 1,
      1,
      1,
    ]);
  });

  test('reads go on; of several `findUnique` in one tick as well', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    const told = vi.spyOn(console, 'warn').mockReturnValue();
    const { client } = here.another();
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      const find = () => client.product.findUnique({ where: { sku: 'mug' } });
      const found = await Promise.all([find(), tx.product.findUnique({ where: { sku: 'mug' } }), find()]);
      const [listed] = await client.$transaction([client.auditRecord.count({ where: { action: key } })]);
      const within = await client.$transaction((db) => db.auditRecord.count({ where: { action: key } }));
      return [...found.map((product) => product?.sku), listed, within];
    });
    const seen = isPlain ? 0 : 1;
    expect(outcome).toMatchObject({ ok: true, data: ['mug', 'mug', 'mug', seen, seen] });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
    const words = told.mock.calls.map(String).filter((said) => said.includes('not in its transaction'));
    expect(words.map((said) => said.split(' ')[1])).toEqual(isPlain ? ['product.findUnique', 'auditRecord.count'] : []);
  });
});

test.each(WRITES)('by a client of another pool, %s is refused', async (method, write) => {
  const { client } = here.another();
  const { client: other } = here.another();
  const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
    await effect(tx, `${key}-tx`);
    await write(other, key);
  });
  expect([outcome, error]).toMatchObject([{ executed: false }, past(method)]);
  expectCounted([await rows(key), await rows(`${key}-tx`), await here.counted(key)]).toEqual([0, 0, [0, 0]]);
});

describe('an extension that sends what is the kit’s by the client that it has captured', () => {
  test.each([
    ['the claim', 'INTO idempotency_keys'],
    ['the completion', 'UPDATE idempotency_keys'],
  ])('%s is refused on Prisma’s way, at once, and on the kit’s pool it does not come by', async (_, words) => {
    const { client: base } = here.another();
    const client = base.$extends({
      query: {
        async $queryRawUnsafe({ args, query }) {
          if (!String(args[0]).includes(words)) return await query(args);
          const [, result] = await base.$transaction([base.$executeRaw`SELECT 1`, query(args)]);
          return result;
        },
      },
    }) as unknown as Client;
    let isBegun = false;
    const handler = async ({ tx, key }: { tx: Client; key: string }) => {
      isBegun = true;
      await effect(tx, key);
    };
    const { key, outcome, error } = await execute(client, handler, { attempt: 1 });
    expect([outcome, error]).toMatchObject(
      isPlain ? [{ code: 'internal', executed: false }, past("A statement of the kit's")] : [{ ok: true }, undefined],
    );
    expect(isBegun).toBe(!isPlain || words.startsWith('UPDATE'));
    expectCounted(await here.counted(key)).toEqual(isPlain ? [0, 0] : [1, 1]);
  });
});

test('within the phase of an operation it is refused or in it, and between phases it goes by itself', async () => {
  const { client } = here.another();
  const provider = new Provider();
  const operation = kit(client)
    .operation({ name: 'phased', schema: anything })
    .phases(async ({ key, atomic, foreign }) => {
      await effect(client, `${key}-between`);
      const said = await atomic('first', async (tx) => {
        await effect(tx, key);
        return String(await ended(effect(client, `${key}-global`)));
      });
      provider.onCharge = () => effect(client, `${key}-foreign`);
      await foreign('charged', provider.call(key));
      return said;
    });
  const key = freshKey();
  const outcome = await operation.execute({ key, payload: {} });
  expect(outcome).toMatchObject({
    ok: true,
    data: isPlain ? expect.stringContaining(past('auditRecord.create').name) : 'undefined',
  });
  const counts = ['', '-between', '-foreign', '-global'].map((name) => rows(key + name));
  expectCounted(await Promise.all(counts)).toEqual([1, 1, 1, isPlain ? 0 : 1]);
});

test('an execution within an execution has a transaction of its own, or is refused', async () => {
  const inner = kit(here.client)
    .operation({ name: 'inner', schema: anything })
    .handler(async ({ tx, key }) => effect(tx, key).then(() => pidOf(tx)));
  for (const isRefused of [true, false]) {
    const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
      await effect(tx, key);
      const within = await ended(inner.execute({ key: `${key}-inner`, payload: {} }));
      expect(within).toMatchObject(isPlain ? { ok: true } : { name: 'ConfigurationError' });
      if (isRefused) throw new Error('rolled back');
    });
    expect(outcome).toMatchObject(isRefused ? { executed: false } : { ok: true });
    const own = isPlain ? 1 : 0;
    expectCounted([await here.counted(key), await here.counted(`${key}-inner`)]).toEqual([
      isRefused ? [0, 0] : [1, 1],
      [own, own],
    ]);
  }
});

describe('a query of tx that nobody awaits', () => {
  const where = { sku: 'mug' };
  const LOST: [string, (tx: Client, action: string) => unknown][] = [
    ...WRITES.slice(0, 5).map(([method, write]): [string, (tx: Client, action: string) => unknown] => [method, write]),
    ['product.update', (tx) => tx.product.update({ where, data: { stock: 1 } })],
    ['order.create', (tx, action) => tx.order.create({ data: orderWithRefund(action) }).refunds()],
    ['auditRecord.create', (tx, action) => ({ answer: tx.auditRecord.create(data(action)) })],
  ];

  test.each(LOST)('%s, a write: the execution fails, and names it', async (method, make) => {
    const { key, outcome, error } = await execute(here.client, async ({ tx, key }) => {
      await effect(tx, `${key}-awaited`);
      make(tx, key);
    });
    const message = expect.stringContaining(`${method}, asked of tx, was never awaited`);
    expect([outcome, error]).toMatchObject([
      { code: 'internal', executed: false },
      { name: 'IdempotencyError', message },
    ]);
    expectCounted([await rows(key), await rows(`${key}-awaited`), await here.counted(key)]).toEqual([0, 0, [0, 0]]);
  });

  test('a write within a $transaction of it: the same', async () => {
    const { key, outcome, error } = await execute(here.client, async ({ tx, key }) => {
      await tx.$transaction(async (within) => {
        within.auditRecord.create(data(key));
      });
    });
    const message = expect.stringContaining('auditRecord.create, asked of tx, was never awaited');
    expect([outcome, error]).toMatchObject([{ executed: false }, { message }]);
    expectCounted([await rows(key), await here.counted(key)]).toEqual([0, [0, 0]]);
  });

  test('a write beside fail(), or behind a redirect: they end in a commit, so it counts', async () => {
    const operation = kit(here.client)
      .operation({ name: 'refusing', schema: anything })
      .handler(async ({ tx, key, fail }) => {
        tx.auditRecord.create(data(key));
        fail('no');
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    expectCounted([await rows(key), await here.counted(key)]).toEqual([0, [0, 0]]);
  });

  test('in a phase: it fails', async () => {
    const operation = kit(here.client)
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ key, atomic }) => {
        await atomic('first', async (tx) => void tx.auditRecord.create(data(key)));
      });
    const key = freshKey();
    expect((await operation.execute({ key, payload: {} })).ok).toBe(false);
    expectCounted(await rows(key)).toBe(0);
  });

  const KEPT: [string, (tx: Client, action: string) => unknown][] = [
    ['the base of a fluent chain', (tx) => tx.order.findFirst().refunds()],
    ['a member of a list that is awaited', (tx) => (isPlain ? undefined : tx.$transaction([tx.product.count()]))],
    [
      'a member of a list behind one that fails, and is caught',
      (tx, action) =>
        isPlain
          ? undefined
          : ended(
              tx.$transaction([
                tx.product.create({ data: { sku: 'mug' } as never }),
                tx.auditRecord.create(data(action)),
              ]),
            ),
    ],
    ['one that is returned', (tx) => tx.product.update({ where, data: { stock: 100 } })],
    [
      'those of Promise.all',
      (tx) => Promise.all([tx.product.count(), tx.product.update({ where, data: { stock: 100 } })]),
    ],
    [
      'one with a method of its own, of a query that is not lazy',
      (tx) => ended(tx.$transaction(async (within) => within.product.count())),
    ],
  ];

  test.each(KEPT)('%s does not count', async (_, make) => {
    const { outcome, error } = await execute(here.client, async ({ tx, key }) => {
      await make(tx, key);
      return 'done';
    });
    expect([outcome, error]).toMatchObject([{ ok: true, data: 'done' }, undefined]);
  });

  test('nor does a write of a handler that throws: its error is told as it is', async () => {
    const { outcome, error } = await execute(here.client, async ({ tx, key }) => {
      tx.auditRecord.create(data(key));
      throw new Error('boom');
    });
    expect([outcome, error]).toMatchObject([{ executed: false }, { message: 'boom' }]);
  });

  test('a read is said in development, and fails nothing', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    const told = vi.spyOn(console, 'warn').mockReturnValue();
    const { client } = here.another();
    const { outcome } = await execute(client, async ({ tx }) => void tx.product.findMany());
    expect(outcome.ok).toBe(true);
    expect(told.mock.calls.map(String)).toContainEqual(
      expect.stringContaining('product.findMany, asked of tx, was never awaited'),
    );
  });
});

describe('a $transaction of tx', () => {
  test('that is rolled back takes all of it, also what is still under way, and nothing beside it', async () => {
    const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
      const go = gate();
      let slow: Promise<unknown> | undefined;
      const nested = tx.$transaction(async (within) => {
        const two = async () => {
          await effect(within, `${key}-within`);
          await go.opened;
          await effect(within, `${key}-within`);
        };
        slow = ended(two());
        throw new Error('boom');
      });
      const beside = effect(tx, key);
      await Promise.all([ended(nested), beside]);
      go.open();
      expect(await slow).toMatchObject(closed);
      return 'done';
    });
    expect(outcome).toMatchObject({ ok: true, data: 'done' });
    expectCounted([await rows(key), await rows(`${key}-within`)]).toEqual([1, 0]);
  });

  test('a query of the tx around it may be made in it, and awaited behind it', async () => {
    const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
      const made = await tx.$transaction(async (within) => {
        await effect(within, key);
        return { query: tx.auditRecord.create(data(key)) };
      });
      await made.query;
    });
    expect(outcome.ok).toBe(true);
    expectCounted(await rows(key)).toBe(2);
  });
});

describe('what is left behind', () => {
  const leaving = async (end: 'commits' | 'throws') => {
    const { client } = here.another();
    const [behind, action] = [gate(), freshKey()];
    const left: Record<string, Promise<unknown>> = {};
    const { outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      const later = (ask: () => PromiseLike<unknown>) => ended(behind.opened.then(async () => await ask()));
      left.tx = later(() => tx.auditRecord.create(data(`${action}-tx`)));
      left.global = later(() => client.auditRecord.create(data(action)));
      left.itx = later(() => client.$transaction((db) => db.auditRecord.create(data(`${action}-itx`))));
      left.list = later(() => client.$transaction([client.auditRecord.create(data(`${action}-list`))]));
      left.read = later(() => client.product.count());
      if (end === 'throws') throw new Error('boom');
    });
    expect(outcome.ok).toBe(end === 'commits');
    behind.open();
    const came = Object.fromEntries(
      await Promise.all(Object.entries(left).map(async ([name, end]) => [name, await end])),
    );
    return { came, written: await Promise.all(['', '-tx', '-itx', '-list'].map((name) => rows(action + name))) };
  };

  test('tx is refused behind COMMIT; the client by its global name goes by itself', async () => {
    const { came, written } = await leaving('commits');
    expect(came).toMatchObject({
      tx: closed,
      global: { tenant: 't' },
      itx: { tenant: 't' },
      list: [{}],
      read: expect.any(Number),
    });
    expectCounted(written).toEqual([1, 0, 1, 1]);
  });

  test('all of it is refused behind a rollback', async () => {
    const { came, written } = await leaving('throws');
    expect(came).toMatchObject({ tx: closed, global: closed, itx: closed, list: closed, read: closed });
    expectCounted(written).toEqual([0, 0, 0, 0]);
  });

  test.each(['commits', 'fails'])('while COMMIT is under way it waits: COMMIT %s', async (end) => {
    const { client } = here.another();
    const { watch } = here;
    const failing = end === 'fails' ? `RAISE EXCEPTION 'not committed';` : '';
    await here.trigger(AT_COMMIT, `PERFORM pg_advisory_xact_lock(4712); ${failing} RETURN NULL;`);
    await watch.query('SELECT pg_advisory_lock(4712)');
    const [action, asking] = [freshKey(), gate()];
    let left: Promise<unknown> | undefined;
    let isAnswered = false;
    const executing = execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      left = ended(
        asking.opened.then(async () => await client.product.updateMany({ where: { sku: action }, data: { stock: 1 } })),
      );
      void left.then(() => {
        isAnswered = true;
      });
    });
    await watch.untilWaiting(1);
    asking.open();
    await client.product.count(); // in no transaction, on a connection of its own
    expect(isAnswered).toBe(false);
    await watch.query('SELECT pg_advisory_unlock(4712)');
    expect((await executing).outcome.ok).toBe(end === 'commits');
    expect(await left).toMatchObject(end === 'commits' ? { count: 0 } : closed);
  });
});
