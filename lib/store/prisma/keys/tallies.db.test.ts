import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { prismaStore } from '../store.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const counted = [
  { operation: 'pay', outcome: 'created', count: 3 },
  { operation: 'pay', outcome: 'replayed', count: 2 },
] as const;

test('on a pool of the kit, tallies pass Prisma by', async () => {
  const asked: string[] = [];
  const client = database.client.$extends({
    query: {
      $queryRawUnsafe: ({ args, query }) => {
        asked.push(String(args));
        return query(args);
      },
    },
  });
  const store = prismaStore(client as never);
  // Not the timeline, which a process writes there once in a while.
  const written = () =>
    asked.filter((text) => /INSERT INTO idempotency_tallies[\s\S]*json_to_recordset/.test(text)).length;

  await store.addTallies(counted);
  await store.addTallies(counted);
  expect(written()).toBe(process.env.POOL === 'plain' ? 2 : 0);

  const rows = await store.tallies(new Date());
  expect(rows.map(({ operation, outcome, count }) => ({ operation, outcome, count }))).toEqual(
    counted.map((tally) => ({ ...tally, count: 2 * tally.count })),
  );
});
