import { expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { createAdmin } from '../../../admin/index.ts';
import {
  ANN,
  anything,
  effect,
  freshKey,
  gate,
  HOUR,
  kit,
  rowsOf,
  SECRET,
  watchOf,
} from '../../../integration/kit.fixture.ts';
import { stage } from '../ambient/ambient.fixture.ts';

/** Claims that write no row: the completion writes it, and the unique index decides there. */

const here = stage();

/**
 * A row of the key that comes from elsewhere, by a program that draws no ticket: its answer is that of an execution with the
 * same payload.
 */
async function rivalOf(key: string) {
  const model = freshKey();
  await counting().operation.execute({ key: model, payload: {} });
  const rival = await watchOf(here.url);
  here.later(rival.close);
  await rival.query('BEGIN');
  await rival.query(
    `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                                   schema_version, claimed_at, settled_at, expires_at, result)
     SELECT tenant, principal, operation, $2, state, fingerprint, fingerprint_version, secret_id, schema_version,
            claimed_at, settled_at, expires_at, replace(result, 'own', 'rival')
       FROM idempotency_keys WHERE key = $1`,
    [model, key],
  );
  return rival;
}

function counting(inHandler: () => unknown = () => {}) {
  let runs = 0;
  const operation = kit(here.client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => {
      runs++;
      await effect(tx, key);
      await inHandler();
      return 'own';
    });
  return { operation, runs: () => runs };
}

test('K5 times are whole seconds: it is kept no shorter than promised, and claimed no later than it was', async () => {
  let inside = 0;
  const { operation } = counting(() => {
    inside = Date.now();
  });
  await operation.execute({ key: freshKey(), payload: {} }); // which connects
  const key = freshKey();
  const before = Date.now();
  const { expiresAt } = await operation.run({ key, payload: {} });
  const row = await here.client.idempotencyKey.findFirstOrThrow({ where: { key } });
  const [claimed, expires] = [row.claimedAt.getTime(), row.expiresAt.getTime()];
  expect([claimed % 1000, expires % 1000]).toEqual([0, 0]);
  expect(claimed).toBeLessThanOrEqual(inside);
  expect(claimed).toBeGreaterThan(before - 1000);
  expect(expires).toBeGreaterThanOrEqual(before + 25 * HOUR);
  expect(expires).toBeLessThan(inside + 25 * HOUR + 1000);
  expect(expiresAt).toEqual(row.expiresAt);
});

test('when a signed key was minted is read from the key; of another one it is stored', async () => {
  const before = Date.now();
  const execute = async (options: Parameters<typeof kit>[1]) => {
    const { mintKey, execute } = kit(here.client, options)
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'own');
    const key = (await mintKey()) as string;
    await execute({ key, payload: {} });
    const detail = await createAdmin({ prisma: here.client }).findKey({ ...ANN, operation: 'checkout', key });
    return { stored: (await rowsOf(here.client, key))[0]?.mintedAt, told: detail?.mintedAt };
  };
  const [signed, unsigned] = [await execute({ secret: [SECRET] }), await execute({})];
  expect(signed).toEqual({ stored: null, told: expect.any(Date) });
  expect(unsigned).toEqual({ stored: unsigned.told, told: expect.any(Date) });
  for (const { told } of [signed, unsigned]) expect(told?.getTime()).toBeGreaterThanOrEqual(before);
});

test('A5 while the handler runs there is no row, and the index is asked once, by the completion', async () => {
  const [inside, end] = [gate(), gate()];
  const { operation } = counting(async () => {
    inside.open();
    await end.opened;
  });
  const key = freshKey();
  const executing = operation.execute({ key, payload: {} });
  await inside.opened;
  const dirty = `SELECT n_tup_ins::int AS inserted, n_tup_upd::int AS updated FROM pg_stat_xact_user_tables
                  WHERE relname = 'idempotency_keys'`;
  expect(await here.watch.query(dirty)).toMatchObject({ rows: [{ inserted: 0, updated: 0 }] });
  end.open();
  expect(await executing).toMatchObject({ ok: true, replayed: false });
  const { rows } = await here.watch.query(`SELECT xmin = xmax AS updated, xmax FROM idempotency_keys WHERE key = $1`, [
    key,
  ]);
  expect(rows, 'written by one INSERT').toMatchObject([{ updated: false, xmax: '0' }]);
});

test.each([
  ['COMMIT', { ok: true, replayed: true, data: 'rival' }, [0, 1]],
  ['ROLLBACK', { ok: true, replayed: false, data: 'own' }, [1, 1]],
])(
  'a rival without a ticket, in the middle of its transaction: the completion waits for its %s',
  async (end, answer, counts) => {
    const key = freshKey();
    const rival = await rivalOf(key);
    const { operation, runs } = counting();
    const executing = operation.execute({ key, payload: {} });
    await here.watch.untilWaiting(1);
    await rival.query(end);
    expect(await executing).toMatchObject(answer);
    expectCounted([runs(), await here.counted(key)]).toEqual([1, counts]);
  },
);

test('A5 a rival without a ticket that commits while the handler runs: its answer counts, and ours is rolled back', async () => {
  const key = freshKey();
  const rival = await rivalOf(key);
  const { operation } = counting(() => rival.query('COMMIT'));
  // Also where nothing is tried again: what is said of the key is what its row proves.
  const told = await operation.execute({ key, payload: {}, attempt: 1, innerRetries: false });
  expect(told).toMatchObject({ replayed: true, data: 'rival' });
  expectCounted(await here.counted(key)).toEqual([0, 1]);
});

test.each(['RepeatableRead', 'Serializable'] as const)(
  'under %s the key is claimed by its row: a rival that this transaction cannot see is met before the handler runs',
  async (isolationLevel) => {
    const key = freshKey();
    const rival = await rivalOf(key);
    let runs = 0;
    const operation = kit(here.client)
      .operation({ name: 'checkout', schema: anything, isolationLevel })
      .handler(async () => `own ${++runs}`);
    const executing = operation.execute({ key, payload: {} });
    await here.watch.untilWaiting(1);
    await rival.query('COMMIT');
    expect(await executing).toMatchObject({ ok: true, replayed: true, data: 'rival' });
    expect(runs).toBe(0);
  },
);
