import { afterAll, beforeAll, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { serializeOn } from './handler-tx.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** Writes one row unless there is one: what two transactions at once get wrong. */
async function oncePerName(name: string, guard: boolean, bothHaveLooked: () => Promise<void>): Promise<void> {
  await database.client.$transaction(
    async (tx) => {
      if (guard) await serializeOn(tx, ['invoice', name]);
      const found = await tx.auditRecord.count({ where: { action: name } });
      if (!guard) await bothHaveLooked();
      if (found === 0) await tx.auditRecord.create({ data: { action: name, tenant: 't', principal: 'p' } });
    },
    { isolationLevel: 'ReadCommitted' },
  );
}

/** Resolves for both once both are there. */
function barrier(): () => Promise<void> {
  let arrived = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return () => {
    if (++arrived === 2) open();
    return opened;
  };
}

test.each([
  [false, 2],
  [true, 1],
])('two transactions that look and then write, serialized: %s, write %i rows', async (guard, rows) => {
  const name = `invoice-${guard}`;
  const both = barrier();
  await Promise.all([oncePerName(name, guard, both), oncePerName(name, guard, both)]);
  expectCounted(await database.client.auditRecord.count({ where: { action: name } })).toBe(rows);
});
