import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createIdempotency } from '../../lib/index.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';
import { readPage, root } from './pages.ts';

/** Runs the SQL of docs/moving-here.md as it is printed. */
const file = 'docs/moving-here.md';
const sql = readPage(file, readFileSync(path.join(root, file), 'utf8')).blocks.filter(({ lang }) => lang === 'sql');
const [table = '', move = '', wasDone = '', wasNotDone = ''] = sql.map(({ text }) => text);

const SECRET = 'a secret of more than thirty-two characters';

let database: TestDatabase;
let executed: string[];
const ran = () => executed.splice(0);

beforeAll(async () => {
  database = await testDatabase();
  executed = [];
  await database.client.$executeRawUnsafe(table);
  await database.client.$executeRaw`
    INSERT INTO old_keys (key, user_id, finished_at, response_code, response_body) VALUES
      ('answered', 'ada', now(), 201, '{"id": "order-1", "status": "paid"}'),
      ('numbered', 'ada', now(), 200, '{"id": 7}'),
      ('without-answer', 'ada', now(), 204, NULL),
      ('refused', 'ada', now(), 402, '{"error": "declined"}'),
      ('the-key', 'ada', NULL, NULL, NULL),
      ('the-other-key', 'ada', NULL, NULL, NULL)`;
  await database.client.$executeRawUnsafe(move);
});
afterAll(() => database?.drop());

const call = (key: string, principal = 'ada') =>
  createIdempotency({ prisma: database.client, secret: [SECRET], onError: () => {} })
    .operation({ name: 'orders.create', schema: z.object({ sku: z.string() }) })
    .handler(async ({ key }) => {
      executed.push(key);
      return { id: 'new' };
    })
    .execute({ key, payload: { sku: 'mug' }, scope: { tenant: 'main', principal } });

test('a finished key is answered as it was, whatever kind its id is', async () => {
  expect(await call('answered')).toMatchObject({ ok: true, replayed: true, data: { id: 'order-1' } });
  expect(await call('numbered')).toMatchObject({ ok: true, replayed: true, data: { id: 7 } });
  expect(ran()).toEqual([]);
});

test('one without an answer is told as done, and one that was refused as refused', async () => {
  expect(await call('without-answer')).toMatchObject({ code: 'result_unreadable', executed: true });
  expect(await call('refused')).toMatchObject({ code: 'failed', executed: 'unknown' });
  expect(ran()).toEqual([]);
});

test('one that was not finished waits for a person, who decides', async () => {
  for (const key of ['the-key', 'the-other-key']) {
    expect(await call(key)).toMatchObject({ code: 'outcome_unknown', executed: 'unknown' });
  }
  // One of the kit's own, of the same name.
  await database.client.$executeRaw`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, expires_at)
    SELECT 'main', 'bob', 'orders.create', key, 'unknown', '\\x00', now()
      FROM unnest(ARRAY['the-key', 'the-other-key']) AS key`;
  for (const settled of [1, 0]) {
    expect(await database.client.$executeRawUnsafe(wasDone)).toBe(settled);
    expect(await database.client.$executeRawUnsafe(wasNotDone)).toBe(settled);
  }
  expect(await call('the-key')).toMatchObject({ code: 'result_unreadable', executed: true });
  expect(await call('the-other-key')).toMatchObject({ code: 'key_abandoned', executed: false });
  expect(ran()).toEqual([]);
});

test('the script changes nothing the second time', async () => {
  expect(await database.client.$executeRawUnsafe(move)).toBe(0);
});

test('a key that was never seen, and a known one of somebody else, are executed once', async () => {
  expect(await call('fresh')).toMatchObject({ ok: true, replayed: false });
  expect(await call('fresh')).toMatchObject({ ok: true, replayed: true });
  expect(await call('answered', 'bob')).toMatchObject({ ok: true, replayed: false, data: { id: 'new' } });
  expect(ran()).toEqual(['fresh', 'answered']);
});
