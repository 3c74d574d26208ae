import { expect, test } from 'vitest';
import { anything, effect, freshKey, gate, kit, watchOf } from '../../engine/engine.testsuite.ts';
import { stage } from './ambient.testsuite.ts';

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

test('while the handler runs there is no row, and the index is asked once, by the completion', async () => {
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
    expect([runs(), await here.counted(key)]).toEqual([1, counts]);
  },
);

test('a rival without a ticket that commits while the handler runs: its answer counts, and ours is rolled back', async () => {
  const key = freshKey();
  const rival = await rivalOf(key);
  const { operation } = counting(() => rival.query('COMMIT'));
  // Also where nothing is tried again: what is said of the key is what its row proves.
  const told = await operation.execute({ key, payload: {}, attempt: 1, innerRetries: false });
  expect(told).toMatchObject({ replayed: true, data: 'rival' });
  expect(await here.counted(key)).toEqual([0, 1]);
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
