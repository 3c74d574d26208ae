import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { anything, freshKey, gate, kit, rowsOf } from '../integration/kit.fixture.ts';
import { createInbox } from '../messaging/prisma.ts';
import { start, within } from './worker.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const never = new Promise<never>(() => {});

/** An app of two operations: what `slow` asks never answers. */
function app() {
  const idempotency = kit(database.client, { leaseMs: 60_000 });
  const [isUp, started] = [{ slow: true }, gate()];
  let asked = 0;
  const slow = idempotency
    .operation({ name: 'slow', schema: anything, maxRunMs: 120_000 })
    .phases(async ({ capture }) => {
      await capture('x', () => 1);
      if (!isUp.slow) throw new Error('not yet');
      asked++;
      started.open();
      return await never;
    });
  const fast = idempotency.operation({ name: 'fast', schema: anything }).phases(({ capture }) => capture('x', () => 1));
  return { idempotency, slow, fast, isUp, asked: () => asked, started: started.opened };
}

/** Keys that their executor has left, oldest first. */
async function leave(operation: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, freshKey);
  const from = kit(database.client)
    .operation({ name: operation, schema: anything })
    .phases(async ({ capture }) => {
      await capture('x', () => 1);
      throw new Error('its process ends');
    });
  for (const key of keys) await from.execute({ key, payload: {} });
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 min' WHERE operation = ${operation} AND state = 'in_progress'`;
  return keys;
}

test('a provider that never answers does not keep the completer from other operations', async () => {
  await leave('slow', 40);
  const { idempotency, asked, started } = app();
  start(database, undefined, { idempotency, completeEveryMs: 100, graceMs: 100 });
  await started;
  await vi.waitFor(() => expect(asked()).toBeGreaterThanOrEqual(15), within);
  const later = await leave('fast', 30);
  await vi.waitFor(async () => {
    for (const key of later) expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded' }]);
  }, within);
  // Slow keys have a share of their own, and no more: the rest of them waits.
  expect(asked()).toBe(15);
});

test('one call takes no more than the limit of each operation, and calls at once no more between them', async () => {
  const { idempotency, asked, started } = app();
  await database.client.$executeRaw`DELETE FROM idempotency_keys`;
  await leave('slow', 10);
  await leave('fast', 10);
  const passes = [1, 2, 3].map(() => idempotency.completeDue({ limit: 4 }));
  await started;
  const fast = async () =>
    await database.client.idempotencyKey.count({ where: { operation: 'fast', state: 'succeeded' } });
  await vi.waitFor(async () => expect(await fast()).toBeGreaterThanOrEqual(4), within);
  expect(asked()).toBe(4);
  expect(passes).toHaveLength(3);
});

test('received events of a slow source do not keep the worker from those of others that are due later', async () => {
  const [begun, quick, mayEnd] = [[] as string[], [] as string[], gate()];
  const slow = async (_: unknown, { eventId }: { eventId: string }) => {
    begun.push(eventId);
    await mayEnd.opened;
  };
  const run = async (_: unknown, { eventId }: { eventId: string }) => void quick.push(eventId);
  const sources = { slow: { handle: slow }, quick: { handle: run } };
  const inbox = createInbox({ prisma: database.client, timeoutMs: 60_000, sources });
  const fail = async (source: string, eventId: string) => {
    await inbox.receiveOnce({ source, eventId, payload: {} }, () => Promise.reject(new Error('no')));
    await database.client
      .$executeRaw`UPDATE inbox_events SET next_attempt_at = received_at WHERE event_id = ${eventId}`;
  };
  for (const id of ['s1', 's2', 's3', 's4', 's5']) await fail('slow', id);
  const worker = start(database, undefined, { inbox, completeEveryMs: 20 });
  await vi.waitFor(() => expect(begun).toHaveLength(3), within);
  for (const id of ['q1', 'q2', 'q3']) {
    await fail('quick', id);
    await vi.waitFor(() => expect(quick).toContain(id), within);
  }
  expect(begun).toHaveLength(3);
  const stopped = worker.stop();
  mayEnd.open();
  await stopped;
  // Nothing began behind the stop.
  expect(begun).toHaveLength(3);
});
