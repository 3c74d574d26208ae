import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { anything, effect, effects, freshKey, kit } from '../../integration/kit.fixture.ts';
import { storeContract } from '../contract.testsuite.ts';
import { prismaHarness, type Tx } from './prisma-harness.fixture.ts';

/** A key table in hash partitions: the place of a row is unique in its partition only. */
async function divide({ client }: TestDatabase): Promise<void> {
  const triggers = await client.$queryRaw<{ definition: string }[]>`
    SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger
     WHERE tgrelid = 'idempotency_keys'::regclass AND NOT tgisinternal`;
  for (const sql of [
    'ALTER TABLE idempotency_keys RENAME TO whole',
    'CREATE TABLE idempotency_keys (LIKE whole INCLUDING ALL) PARTITION BY HASH (key)',
    'CREATE SCHEMA parts',
    // Also where a partition is in another schema than the table.
    ...[0, 1, 2, 3].map(
      (n) => `CREATE TABLE ${n === 0 ? 'parts.' : ''}keys_${n} PARTITION OF idempotency_keys
              FOR VALUES WITH (MODULUS 4, REMAINDER ${n})`,
    ),
    'DROP TABLE whole',
    ...triggers.map(({ definition }) => definition), // LIKE does not copy them
  ]) {
    await client.$executeRawUnsafe(sql);
  }
}

storeContract<Tx>('Prisma, on keys in partitions', () => prismaHarness({ prepare: divide }));

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  await divide(database);
});
afterAll(() => database?.drop());

/** An app with an operation in one transaction, and one in phases. */
function shop() {
  const idempotency = kit(database.client);
  const checkout = idempotency
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => await effect(tx, key));
  const pay = idempotency
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic, key }) => await atomic('paid', async (tx) => await effect(tx, key)));
  return { idempotency, checkout, pay };
}

test('K5 P5 the reaper deletes what has expired and nothing else, and a fresh key replays', async () => {
  const { client } = database;
  const { idempotency, checkout, pay } = shop();
  const [old, fresh] = [1, 2].map(() => Array.from({ length: 20 }, freshKey)) as [string[], string[]];
  for (const [n, key] of [...old, ...fresh].entries()) {
    const operation = n % 4 === 0 ? pay : checkout;
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
  }
  await client.$executeRaw`UPDATE idempotency_keys SET expires_at = now() - interval '1 hour' WHERE key = ANY (${old})`;
  const used = await client.$queryRaw`SELECT 1 FROM idempotency_keys GROUP BY tableoid`;
  expect(used, 'each partition has rows at the same places').toHaveLength(4);

  expect(await idempotency.reap()).toBe(20);
  const left = await client.idempotencyKey.findMany({ select: { key: true } });
  expect(left.map(({ key }) => key).sort()).toEqual([...fresh].sort());
  expect(await client.idempotencyPhase.count()).toBe(5);
  const again = shop(); // another process, which remembers nothing
  for (const [n, key] of fresh.entries()) {
    const operation = n % 4 === 0 ? again.pay : again.checkout;
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true });
    expectCounted(await effects(client, key)).toBe(1);
  }
});
