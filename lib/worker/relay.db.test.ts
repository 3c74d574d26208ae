import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { announce, daysPass, destination, outboxOn, timePasses } from '../messaging/messaging.fixture.ts';
import { PASSES } from './passes.ts';
import { door, idle, jobs, start, within } from './worker.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(async () => {
  await database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`;
  await database.client.$executeRaw`DELETE FROM outbox_events`;
});

const HOUR = 3_600_000;

test('M2 the relay is woken by the commit: an event goes out long before its next round', async () => {
  const sink = destination();
  const outbox = outboxOn(database.client, [sink.route]);
  const relayDue = vi.spyOn(outbox, 'relayDue');
  start(database, undefined, { outbox, relayEveryMs: HOUR });
  await vi.waitFor(() => expect(relayDue.mock.calls.length, 'its first round is over').toBe(2), within);
  await Promise.all(relayDue.mock.results.map(({ value }) => value));
  await announce(database.client, outbox, 'a', 3);
  await vi.waitFor(() => expect(sink.order('a')).toEqual([1, 2, 3]), within);
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
});

test('an event for which nobody has woken it goes out with its next round', async () => {
  const sink = destination();
  const outbox = outboxOn(database.client, [sink.route]);
  await announce(database.client, outbox, 'b');
  await database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`;
  start(database, undefined, { outbox, relayEveryMs: 20 });
  await vi.waitFor(() => expect(sink.order('b')).toEqual([1]), within);
});

test('a destination that hangs holds up no other, nor the jobs', async () => {
  const [slow, fast] = [destination('slow'), destination('fast')];
  const { opened, open } = door();
  slow.behave = () => opened;
  const outbox = outboxOn(database.client, [slow.route, fast.route]);
  const letter = vi.fn(async () => {});
  start(database, letter, { outbox, concurrency: 1, relayEveryMs: HOUR });
  for (const aggregate of ['c', 'd', 'e', 'f']) await announce(database.client, outbox, aggregate);
  await database.client.$executeRaw`SELECT graphile_worker.add_job('letter', '{}'::json)`;
  await vi.waitFor(() => expect([fast.sent.length, letter.mock.calls.length]).toEqual([4, 1]), within);
  open();
  await vi.waitFor(() => expect(slow.sent).toHaveLength(4), within);
});

test('a worker that is stopped gives back what it was sending', async () => {
  const sink = destination();
  let isSending = false;
  sink.behave = async () => {
    isSending = true;
    await new Promise(() => {});
  };
  const outbox = outboxOn(database.client, [sink.route]);
  const worker = start(database, undefined, { outbox, graceMs: 0 });
  await announce(database.client, outbox, 'g');
  await vi.waitFor(() => expect(isSending).toBe(true), within);
  await worker.stop();
  expect(await database.client.outboxDelivery.findMany()).toMatchObject([{ state: 'pending', attempts: 0 }]);
});

test('what waits for a destination that has left the configuration is told when a worker starts', async () => {
  await announce(database.client, outboxOn(database.client, [destination('left').route]), 'stranger');
  const outbox = outboxOn(database.client, [destination('stayed').route]);
  const worker = start(database, undefined, { outbox });
  await vi.waitFor(
    () => expect(worker.lines.join()).toContain('Events wait for left, which is no destination here'),
    within,
  );
});

test('P6 relay, inbox and reaper run once', async () => {
  const sink = destination();
  const outbox = outboxOn(database.client, [sink.route]);
  const inbox = {
    retryDue: vi.fn(async () => ({ taken: 2, processed: 1, failed: 1, dead: 0 })),
    reap: vi.fn(async () => 4),
  };
  const driven = { ...idle(), outbox, inbox };
  await announce(database.client, outbox, 'h', 2);
  sink.behave = ({ sequence }) => {
    if (sequence === 2) throw new Error('down');
  };
  expect(await PASSES.relay?.(driven)).toEqual({ delivered: 1, failed: 1, dead: 0, unfinished: 0 });
  sink.behave = () => {};
  await timePasses(database.client);
  expect(await PASSES.relay?.(driven)).toMatchObject({ delivered: 1 });
  expect(await PASSES.inbox?.(driven)).toEqual({ taken: 2, processed: 1, failed: 1, dead: 0 });
  await daysPass(database.client, 8);
  expect(await PASSES.reap?.(driven)).toEqual({ deleted: 6 });
  expect(await PASSES.relay?.(idle())).toMatchObject({ delivered: 0 });
});
