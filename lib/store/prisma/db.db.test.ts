import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { claimOf } from '../contract-harness.fixture.ts';
import { storeOf } from './prisma-harness.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

test('what the server refuses as it commits is not told as done', async () => {
  const store = storeOf(database.client);
  const claim = claimOf();
  const note = (actor: string) => store.recordEvent(claim, { type: 'late_answer', actor, detail: null });
  await note('before');
  await database.client.$executeRawUnsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$`);
  await database.client.$executeRawUnsafe(`
    CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON idempotency_events DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse()`);
  await expect(note('behind')).rejects.toThrow('not today');
  expect((await store.events(claim)).map(({ actor }) => actor)).toEqual(['before']);
});
