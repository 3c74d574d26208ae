import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { claimOf, DONE, HOW } from '../contract-harness.fixture.ts';
import type { TransactionOf } from './client.ts';
import { prismaStore } from './store.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  // What the server does at COMMIT itself, told by the row: deferred triggers run only then.
  for (const sql of [
    `CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF NEW.tenant = 'slow' THEN PERFORM pg_sleep(0.5); END IF;
       IF NEW.tenant = 'refused' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '23514'; END IF;
       IF NEW.tenant = 'conflict' THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF;
       IF NEW.tenant = 'shutdown' THEN RAISE EXCEPTION 'shutting down' USING ERRCODE = '57P01'; END IF;
       RETURN NULL; END $$`,
    `CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON audit_records DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION at_commit()`,
  ]) {
    await database.client.$executeRawUnsafe(sql);
  }
});
afterAll(() => database?.drop());

/** An execution in whose COMMIT this happens. */
async function committing(tenant: string, timeoutMs = 20_000) {
  const claim = claimOf();
  const run = async (tx: TransactionOf<TestDatabase['client']>) => {
    await tx.auditRecord.create({ data: { action: claim.key, tenant, principal: 'p' } });
    return DONE;
  };
  const executed = await prismaStore(database.client).execute(claim, run, { ...HOW, timeoutMs, maxWaitMs: 5000 });
  return { executed, claim };
}

describe('an error of COMMIT itself', () => {
  test.each([
    ['refused', 'error'],
    ['conflict', 'conflict'],
  ])('a %s that the server answers proves that nothing was committed', async (tenant, why) => {
    const { executed, claim } = await committing(tenant);
    expect(executed).toMatchObject({ kind: 'rolled_back', why });
    expect(await prismaStore(database.client).find(claim)).toBeUndefined();
  });

  test('a server that shuts down while it commits leaves it in doubt', async () => {
    expect((await committing('shutdown')).executed).toMatchObject({ kind: 'in_doubt' });
  });

  test('a COMMIT that outlasts the time of its transaction is never told as rolled back when it was committed', async () => {
    const { executed, claim } = await committing('slow', 200);
    const row = await prismaStore(database.client).find(claim);
    expect({ told: executed.kind, row: row?.state }).toEqual(
      executed.kind === 'rolled_back'
        ? { told: 'rolled_back', row: undefined }
        : { told: expect.stringMatching(/committed|in_doubt/), row: 'succeeded' },
    );
  });
});

describe('an error before COMMIT', () => {
  test.each([
    ['40001', 'conflict'],
    ['40P01', 'conflict'],
    ['57P01', 'unavailable'],
    ['57P03', 'unavailable'],
    ['53300', 'unavailable'],
    ['08006', 'unavailable'],
    ['23505', 'error'],
    ['23514', 'error'],
    ['55P03', 'error'],
    ['42P01', 'error'],
  ])('C4, C6 SQLSTATE %s in the handler is rolled back as %s, raw or through a model', async (state, why) => {
    await database.client.$executeRawUnsafe(`CREATE OR REPLACE FUNCTION at_update() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = '${state}'; END $$`);
    await database.client.$executeRawUnsafe(`CREATE OR REPLACE TRIGGER at_update BEFORE UPDATE ON products
      FOR EACH ROW EXECUTE FUNCTION at_update()`);
    const ways = [
      (tx: TransactionOf<TestDatabase['client']>) => tx.$executeRawUnsafe('UPDATE products SET stock = stock'),
      (tx: TransactionOf<TestDatabase['client']>) => tx.product.updateMany({ data: { stock: 1 } }),
    ];
    for (const way of ways) {
      const executed = await prismaStore(database.client).execute(
        claimOf(),
        async (tx) => {
          await way(tx);
          return DONE;
        },
        HOW,
      );
      expect(executed).toMatchObject({ kind: 'rolled_back', why });
    }
  });
});
