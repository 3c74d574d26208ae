import { beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { ADVICE } from '../../core/codes.ts';
import type { ErrorContext } from '../../index.ts';
import { anything, effect, effects, freshKey, kit, type Tx } from '../../integration/kit.fixture.ts';
import type { PhasesContext } from './context.ts';
import { database, expire, provider, rowOf, stepsOf, usePhases } from './shop.fixture.ts';

/** Shows the outcomes of an operation in phases that violates a unique constraint of the app's own. */

usePhases({ ownsTables: true });
beforeAll(async () => {
  const { client } = database;
  await client.$executeRaw`CREATE TABLE late (id text, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)`;
  // What a server does at COMMIT that shuts down: nobody knows what became of it.
  await client.$executeRaw`CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'shutting down' USING ERRCODE = '57P01'; END $$`;
  await client.$executeRaw`CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON audit_records DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.tenant = 'shutdown') EXECUTE FUNCTION at_commit()`;
});

type Input = { sku?: string };
type Context = PhasesContext<Input, Tx>;

/** Makes an operation, and records what is reported of it. */
function op(phases: (context: Context) => Promise<unknown>, more: object = {}) {
  const errors: Pick<ErrorContext, 'during' | 'constraint'>[] = [];
  const onError = (_: unknown, { during, constraint }: ErrorContext) => void errors.push({ during, constraint });
  const idempotency = kit(database.client, { onError });
  const operation = idempotency
    .operation({ name: 'pay', schema: anything, ...more })
    .phases((context) => phases(context as unknown as Context) as Promise<string>);
  const complete = () => idempotency.completeDue({ limit: 100 });
  return { ...operation, complete, errors };
}

const adding = (tx: Tx, sku = 'mug') =>
  tx.product.create({ data: { sku, name: '', description: '', priceCents: 1, stock: 1 } });

/** Each writes its effect. */
const WRITING: Record<string, (context: Context) => Promise<unknown>> = {
  'in the first phase': ({ atomic, input, key }) =>
    atomic('added', async (tx) => {
      await effect(tx, key);
      await adding(tx, input.sku);
    }),
  'in the first phase, behind what was captured': async ({ atomic, capture, input, key }) => {
    const id = await capture('id', () => `id-${input.sku}`);
    await atomic('added', async (tx) => {
      await effect(tx, key);
      await adding(tx, input.sku);
    });
    return id;
  },
  'at the COMMIT of the first phase, with which a call begins': async ({ atomic, foreign, input, key }) => {
    await atomic('added', async (tx) => {
      await effect(tx, key);
      await tx.$executeRaw`INSERT INTO late VALUES (${input.sku ?? 'mug'}), ('mug')`;
    });
    await foreign('charge', provider.call(key));
  },
};
const NOTHING_IS_LEFT: typeof WRITING = {
  ...WRITING,
  'where the refusal of a key is stored of which nothing is': async ({ input, key, fail }) =>
    input.sku === undefined ? fail('no') : key,
};

describe('S8 where nothing of the key is committed', () => {
  test.each(Object.entries(NOTHING_IS_LEFT))('%s: the key is free, for other values, too', async (what, phases) => {
    const { execute, status, complete, errors } = op(phases, { onRefused: (tx: Tx) => adding(tx) });
    const key = freshKey();
    const told = await execute({ key, payload: {}, attempt: 2 });
    expect(told).toMatchObject({ code: 'already_exists', retry: 'same-key', executed: false });
    expect(errors).toMatchObject([
      { during: 'handler', constraint: expect.stringMatching(/products_pkey|late_id_key/) },
    ]);
    expect([await rowOf(key), await stepsOf(key), provider.sends]).toEqual([undefined, [], 0]);
    expect(await status({ key })).toMatchObject({ state: 'absent' });
    expect(await complete()).toMatchObject({ settled: 0, unfinished: 0 });
    expectCounted(await effects(database.client, key)).toBe(0);
    const payload = { sku: `sku-of-${key}` };
    expect(await execute({ key, payload })).toMatchObject({ ok: true, replayed: false });
    expect(await execute({ key, payload })).toMatchObject({ ok: true, replayed: true });
    expectCounted(await effects(database.client, key)).toBe(what in WRITING ? 1 : 0);
  });
});

describe('S8 where something of it is committed, and no call was begun', () => {
  test('A2 behind a phase: the key goes on by itself, and succeeds once nothing is in the way', async () => {
    const sku = freshKey();
    const { execute, complete, errors } = op(async ({ atomic, key }) => {
      await atomic('ordered', (tx) => effect(tx, key));
      await atomic('added', (tx) => adding(tx, sku));
      return 'done';
    });
    await adding(database.client as unknown as Tx, sku);
    const key = freshKey();
    const told = await execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'already_exists', retry: 'same-key', executed: 'unknown' });
    expect(errors).toMatchObject([{ during: 'phases', constraint: 'products_pkey' }]);
    // Its words are those of one transaction, too.
    expect(`${ADVICE.already_exists.message} ${ADVICE.already_exists.detail}`).not.toMatch(/nothing|rolled back/);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', recoveryPoint: 'ordered' });
    await expire(key);
    expect(await complete()).toMatchObject({ unfinished: 1 });
    await database.client.product.delete({ where: { sku } });
    await expire(key);
    expect(await complete()).toMatchObject({ settled: 1 });
    expect(await execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('behind a claim that was committed by itself', async () => {
    const { execute } = op(async ({ atomic }) => {
      await database.client.product.count();
      await atomic('added', (tx) => adding(tx));
    });
    const key = freshKey();
    expect(await execute({ key, payload: {} })).toMatchObject({ code: 'already_exists', executed: 'unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', recoveryPoint: null });
  });

  test('A1 where the COMMIT of the claim is in doubt, it is not said that nothing was executed', async () => {
    const { execute } = op(async ({ atomic, key }) => {
      await atomic('ordered', (tx) =>
        tx.auditRecord.create({ data: { action: key, tenant: 'shutdown', principal: 'p' } }).then(() => {}),
      );
      await adding(database.client as unknown as Tx);
    });
    const key = freshKey();
    expect(await execute({ key, payload: {} })).toMatchObject({ ok: false, executed: 'unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  });
});

test.each<[string, (context: Context) => Promise<unknown>]>([
  ['in a phase', ({ atomic }) => atomic('added', (tx) => adding(tx))],
  ['in the function', () => adding(database.client as unknown as Tx)],
])('S8 A2 behind a foreign call, %s: internal, and the key goes on', async (_, behind) => {
  const { execute, complete, errors } = op(async (context) => {
    await context.foreign('charge', provider.call(context.key));
    await behind(context);
  });
  const key = freshKey();
  for (const _ of [1, 2]) {
    expect(await execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: 'unknown' });
  }
  await expire(key);
  expect(await complete()).toMatchObject({ unfinished: 1 });
  expect(errors).toMatchObject(Array.from({ length: 3 }, () => ({ during: 'phases', constraint: undefined })));
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  expect(provider.sends).toBe(1);
});

test('S8 what a send runs into is the call’s own failure', async () => {
  const { execute } = op(({ foreign, key }) => {
    const send = () => adding(database.client as unknown as Tx) as never;
    return foreign('charge', { ...provider.call(key), send, maxTries: 1 });
  });
  const told = await execute({ key: freshKey(), payload: {} });
  expect(told).toMatchObject({ ok: false, executed: 'unknown' });
  expect(told).not.toMatchObject({ code: 'already_exists' });
});
