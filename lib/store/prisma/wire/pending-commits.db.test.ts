import { build } from 'esbuild';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { createClient } from '../../../../shop/db.ts';
import { anything, effect, freshKey, kit } from '../../../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

test('what a phase has written is found by the function also where another copy of the kit has wrapped the pool', async () => {
  const pool: pg.Pool = (await poolOfItsOwnCopy()).oncekitPool(new pg.Pool({ connectionString: database.url }));
  await Promise.all([1, 2, 3].map(() => pool.query('SELECT 1'))); // to connect takes longer than the phase is kept open
  const client = createClient(database.url, { pool });
  const key = freshKey();
  const pay = kit(client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic }) => {
      await atomic('order_created', (tx) => effect(tx, key));
      return (await pool.query('SELECT FROM audit_records WHERE action = $1', [key])).rowCount;
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 1 });
  await client.$disconnect();
});

/** As a bundler gives a copy of the kit to the module of the app's client. */
async function poolOfItsOwnCopy() {
  const { outputFiles } = await build({
    entryPoints: ['lib/store/prisma/wire/pool.ts'],
    ...({ bundle: true, format: 'esm', write: false, platform: 'node' } as const),
  });
  return await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`);
}
