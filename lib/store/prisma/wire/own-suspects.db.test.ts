import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { claimOf } from '../../contract-harness.fixture.ts';
import { storeOf } from '../prisma-harness.fixture.ts';
import { silentProxy } from './silent-proxy.fixture.ts';

/** Where one connection of a pool is lost, the others that led the same way are not trusted either. */

const CONNECTIONS = 4;

let database: TestDatabase;
let proxy: Awaited<ReturnType<typeof silentProxy>>;
let client: Client;

beforeEach(async () => {
  database = await testDatabase();
  proxy = await silentProxy(database.url);
  client = createClient(proxy.url, { max: CONNECTIONS });
});
afterEach(async () => {
  proxy.close();
  await client.$disconnect();
  await database.drop();
});

/** The server processes behind all connections of the pool. */
async function processes(): Promise<number[]> {
  const pid = async () =>
    (await client.$queryRaw<[{ pid: number }]>`SELECT pg_backend_pid() AS pid, pg_sleep(0.1)::text`)[0].pid;
  return (await Promise.all(Array.from({ length: CONNECTIONS }, pid))).sort();
}

const findWithin = (ms: number) =>
  storeOf(client)
    .until(performance.now() + ms)
    .find(claimOf());

test('all connections are silent: one question is late, and the next is answered', async () => {
  await processes();
  proxy.silence();
  await expect(findWithin(200)).rejects.toThrow('did not answer within');
  expect(await findWithin(10_000)).toBeUndefined();
  // The app's own query, and its own transaction: neither has a bound.
  expect(await client.$transaction([client.$queryRaw`SELECT 1 AS one`])).toEqual([[{ one: 1 }]]);
  expect(await processes()).toHaveLength(CONNECTIONS);
});

test('a question that fails in another way says nothing of the others', async () => {
  const before = await processes();
  await expect(client.$queryRaw`SELECT 1 / 0`).rejects.toThrow('division by zero');
  expect((await processes()).filter((pid) => before.includes(pid)).length).toBeGreaterThanOrEqual(CONNECTIONS - 1);
});
