import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { acquire, oncekitPool } from './pool.ts';

/** Those who wait for a connection and give up before there is one. */

let database: TestDatabase;
let pool: pg.Pool;

beforeEach(async () => {
  database = await testDatabase();
  pool = oncekitPool(new pg.Pool({ connectionString: database.url, max: 1 }));
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

test('20,000 gave up while the one connection was taken: given back, it serves whoever comes next', async () => {
  const held = await acquire(pool, 10_000);
  const late = await Promise.allSettled(Array.from({ length: 20_000 }, () => acquire(pool, 1)));
  expect(new Set(late.map(({ status }) => status))).toEqual(new Set(['rejected']));
  held.release();
  const { release } = await acquire(pool, 10_000);
  release();
});
