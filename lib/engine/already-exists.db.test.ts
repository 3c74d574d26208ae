import { afterEach, describe, expect, test, vi } from 'vitest';
import * as zod from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import type { ErrorContext, LogEntry, Options } from '../index.ts';
import { documented } from '../integration/documented.fixture.ts';
import { anything, effect, freshKey, kit, SECRET, type Tx } from '../integration/kit.fixture.ts';
import { orderWithRefund, stage } from '../store/prisma/ambient/ambient.fixture.ts';
import { sqlOf } from '../store/prisma/handler-tx.ts';

/** Shows the outcomes of a handler that violates a unique constraint of the app's own. */

const here = stage({ ownsTables: true });
afterEach(() => void vi.unstubAllEnvs());

type Handle = (tx: Tx, key: string, input: Record<string, unknown>) => Promise<unknown>;

/** Makes an operation, and records what is logged and reported of it. */
function op(handle: Handle, options: Partial<Options> = {}, more: object = {}) {
  const onError = vi.fn<(error: unknown, context: ErrorContext) => void>();
  const log = vi.fn<(entry: LogEntry) => void>();
  const runs = vi.fn();
  const operation = kit(here.client, { onError, log, ...options })
    .operation({ name: 'join', schema: anything, ...more })
    .handler(async ({ tx, key, input }) => {
      runs();
      await effect(tx, key);
      await handle(tx, key, input);
      return 'done';
    });
  const reported = () => onError.mock.calls.map(([, { during, constraint }]) => ({ during, constraint }));
  const logged = () => log.mock.calls.map(([{ level, code, constraint }]) => ({ level, code, constraint }));
  return { ...operation, runs, reported, logged };
}

const product = (sku: unknown) => ({ sku: String(sku), name: '', description: '', priceCents: 1, stock: 1 });
const mugAgain: Handle = (tx) => tx.product.create({ data: product('mug') });

const WAYS: Record<string, [Handle, constraint: string, during?: ErrorContext['during']]> = {
  'a create of Prisma’s': [mugAgain, 'products_pkey'],
  'raw SQL': [(tx) => tx.$executeRaw`INSERT INTO products SELECT * FROM products WHERE sku = 'mug'`, 'products_pkey'],
  'a constraint of several columns': [
    async (tx, key) => {
      const { id: orderId } = await tx.order.create({ data: orderWithRefund(key) });
      const entry = { posting: `charge:${orderId}`, account: 'sales', amountCents: 1, orderId };
      await tx.ledgerEntry.createMany({ data: [entry, entry] });
    },
    'ledger_entries_posting_account_key',
  ],
  'a nested write': [
    async (tx, key) => {
      const order = orderWithRefund(key);
      await tx.order.create({ data: order });
      await tx.order.create({ data: { ...orderWithRefund(key), refunds: order.refunds } });
    },
    'refunds_pkey',
  ],
  'a savepoint that the handler lets through': [
    (tx) => tx.$transaction((inner) => mugAgain(inner, '', {})),
    'products_pkey',
  ],
  'an error that the handler has wrapped': [
    (tx) =>
      mugAgain(tx, '', {}).catch((cause) => {
        throw new Error('The product could not be added.', { cause });
      }),
    'products_pkey',
  ],
  'a constraint that is checked at COMMIT': [
    (tx) => tx.$executeRaw`INSERT INTO late VALUES (1), (1)`,
    'late_id_key',
    'answer',
  ],
  'a trigger that says so, of no constraint': [(tx) => tx.$executeRaw`INSERT INTO guarded VALUES (1)`, 'unnamed'],
};

/** Makes tables for what the shop has none of. */
const withTables = async () => {
  const { watch } = here;
  await watch.query(`CREATE TABLE IF NOT EXISTS late (id int, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)`);
  await watch.query(`CREATE TABLE IF NOT EXISTS guarded (id int)`);
  await watch.query(`CREATE OR REPLACE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'there is one' USING ERRCODE = 'unique_violation'; END $$`);
  await watch.query(`CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION guard()`);
};

test.each(Object.entries(WAYS))('S8 %s: nothing is stored, and the constraint is named', async (_, way) => {
  const [handle, constraint, during = 'handler'] = way;
  await withTables();
  const { execute, status, runs, reported, logged } = op(handle);
  const key = freshKey();
  const told = await execute({ key, payload: {}, attempt: 2 });
  expect(told).toMatchObject({ code: 'already_exists', retry: 'same-key', executed: false, key });
  expect(told).not.toHaveProperty('retryAfterMs', expect.anything());
  expectCounted(await here.counted(key)).toEqual([0, 0]);
  expect(await status({ key })).toMatchObject({ state: 'absent' });
  expect(runs).toHaveBeenCalledTimes(1);
  expect(reported()).toEqual([{ during, constraint }]);
  expect(logged()).toEqual([{ level: 'warn', code: 'already_exists', constraint }]);
});

test.skipIf(process.env.POOL === 'plain')('S8 an error of `pg`, where the transaction is the kit’s own', async () => {
  const { execute, reported } = op((tx) => sqlOf(tx).query('INSERT INTO products SELECT * FROM products'));
  expect(await execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'already_exists', executed: false });
  expect(reported()).toEqual([{ during: 'handler', constraint: 'products_pkey' }]);
});

test('S8 the same key executes with another value, and is then answered by that', async () => {
  const { execute, runs } = op((tx, _, { sku }) => tx.product.create({ data: product(sku) }));
  const key = freshKey();
  expect(await execute({ key, payload: { sku: 'mug' } })).toMatchObject({ code: 'already_exists' });
  const payload = { sku: `mug-of-${key}` };
  expect(await execute({ key, payload, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
  expect(await execute({ key, payload, attempt: 3 })).toMatchObject({ ok: true, replayed: true });
  expect(await execute({ key, payload: { sku: 'mug' } })).toMatchObject({ code: 'payload_mismatch' });
  expect(runs).toHaveBeenCalledTimes(2);
  expectCounted(await here.counted(key)).toEqual([1, 1]);
});

test('S8 of two executions at once of one value, one succeeds', async () => {
  const sku = freshKey();
  const { execute } = op((tx) => tx.product.create({ data: product(sku) }));
  const told = await Promise.all([1, 2, 3].map(() => execute({ key: freshKey(), payload: {} })));
  expectCounted(told.filter(({ ok }) => ok)).toHaveLength(1);
  expect(told.filter(({ ok }) => !ok)).toMatchObject([{ code: 'already_exists' }, { code: 'already_exists' }]);
});

test('S8 where `onRefused` runs into it, the refusal is not stored', async () => {
  const onRefused = async (tx: Tx) => void (await mugAgain(tx, '', {}));
  const refused = kit(here.client)
    .operation({ name: 'join', schema: anything, onRefused })
    .handler(async ({ fail }) => fail('no'));
  const key = freshKey();
  expect(await refused.execute({ key, payload: {} })).toMatchObject({ code: 'already_exists', executed: false });
  expectCounted(await here.counted(key)).toEqual([0, 0]);
});

describe('S8 is said of no other error', () => {
  test.each<[string, Handle]>([
    ['another constraint', (tx) => tx.$executeRaw`INSERT INTO products (sku) VALUES ('nameless')`],
    [
      'a constraint of the kit’s',
      (tx) => tx.$executeRaw`INSERT INTO idempotency_tallies SELECT now(), 'a', 'b', 1 FROM generate_series(1, 2)`,
    ],
    ['one that was caught, and has aborted the transaction', (tx) => mugAgain(tx, '', {}).catch(() => {})],
    ['words that only sound like it', () => Promise.reject(new Error('Unique constraint failed'))],
  ])('%s', async (_, handle) => {
    const { execute, reported, logged } = op(handle);
    expect(await execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'internal', executed: false });
    expect(reported()).toMatchObject([{ constraint: undefined }]);
    expect(logged()).toEqual([{ level: 'error', code: 'internal', constraint: undefined }]);
  });

  test('a check before the handler', async () => {
    const admit = () => mugAgain(here.client as unknown as Tx, '', {});
    const { execute, runs, reported } = op(mugAgain, {}, { admit });
    expect(await execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'internal', executed: 'unknown' });
    expect([runs.mock.calls, reported()]).toMatchObject([[], [{ during: 'checks' }]]);
  });

  test('what is made again of an answer that cannot be read: that was done', async () => {
    const key = freshKey();
    expect(await op(async () => {}).execute({ key, payload: {} })).toMatchObject({ ok: true });
    const again = op(mugAgain, {}, { schemaVersion: 2, naturallyIdempotent: true });
    const told = await again.execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'result_unreadable', executed: true, retry: 'never' });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
  });
});

test('S8 N3 the page names the constraint in development, and in production the log alone does', async () => {
  const line = vi.spyOn(console, 'error').mockImplementation(() => {});
  const told = async () => {
    const { execute } = op(mugAgain, { secret: SECRET, log: undefined, onError: undefined } as Partial<Options>);
    return await execute({ key: freshKey(), payload: { card: 'secret' } });
  };
  vi.stubEnv('NODE_ENV', 'development');
  expect(await told()).toMatchObject({ message: expect.stringMatching(/^This is there already\. .*products_pkey/) });
  vi.stubEnv('NODE_ENV', 'production');
  expect(await told()).toMatchObject({
    message: 'This is there already. Look at what is there, or change what you entered.',
  });
  expect(line.mock.lastCall?.join(' ')).toMatch(/ P2002 products_pkey$/);
  line.mockRestore();
});

test('the recipe of docs/forms.md: the refusal is stored, by the name of its constraint', async () => {
  const idempotency = kit(here.client);
  type Recipe = { addProduct: ReturnType<typeof op> };
  const modules = { zod, './idempotency': { idempotency } };
  const { addProduct } = documented<Recipe>('docs/forms.md', 'lib/products.ts', modules);
  const [key, sku] = [freshKey(), freshKey()];
  const taken = { code: 'failed', reason: 'sku_taken', message: 'There is a product mug already.', executed: false };
  const twice = { key, payload: { sku: 'mug', name: 'Mug' } };
  expect(await addProduct.execute(twice)).toMatchObject({ ...taken, retry: 'new-key' });
  expect(await addProduct.execute(twice)).toMatchObject({ ...taken, replayed: true });
  const another = { key: freshKey(), payload: { sku, name: 'Another mug' } };
  expect(await addProduct.execute(another)).toMatchObject({ ok: true, data: { sku } });
  // Another constraint is as it was.
  await here.watch.query(`CREATE UNIQUE INDEX a_name ON products (name) WHERE name = 'Another mug'`);
  const named = { key: freshKey(), payload: { sku: freshKey(), name: 'Another mug' } };
  expect(await addProduct.execute(named)).toMatchObject({ code: 'already_exists' });
});
