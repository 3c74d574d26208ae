import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { until } from '../../scripts/testing/until.ts';
import { announce, destination, outboxOn } from '../messaging/messaging.fixture.ts';
import { silentProxy } from '../store/prisma/wire/silent-proxy.fixture.ts';
import { endWithin, openPool } from './pool.ts';
import { addLetter, door, isShown, jobs, type Letter, start, within } from './worker.fixture.ts';

/** A network that says nothing any more: a worker goes on by itself, on new connections, and is not restarted. */

/** Two of the runner’s loops poll every 2 s each, so that of three jobs in a row one waits for 1 s at least, unless it is heard of. */
const HEARD_MS = 700;
const HOUR = 3_600_000;
/** The database answers half-way, and the statement's time is over behind three quarters. */
const STALL_MS = bound(2000);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`);

async function proxied() {
  const proxy = await silentProxy(database.url);
  onTestFinished(proxy.close);
  return proxy;
}

test('jobs are run, the relay is woken, and the worker is seen and listens, on new connections', async () => {
  const proxy = await proxied();
  const sink = destination();
  const outbox = outboxOn(database.client, [sink.route]);
  const [ann, carl] = [door(), door()];
  const letter = vi.fn<Letter>(async (payload) => {
    if ((payload as { to: string }).to === 'ann') await ann.opened;
    if ((payload as { to: string }).to === 'carl') await carl.opened;
  });
  const { lines } = start(database, letter, { connectionString: proxy.url, outbox, relayEveryMs: HOUR });
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);

  const silentSince = performance.now();
  proxy.silence();
  ann.open();
  await addLetter(database, 'bob');
  await announce(database.client, outbox, 'a');
  await vi.waitFor(() => {
    expect(letter).toHaveBeenCalledTimes(2);
    expect(sink.order('a')).toEqual([1]);
  }, within);
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
  // Bounded: by docs/worker.md.
  expect(performance.now() - silentSince).toBeLessThan(20_000);
  expect(lines.join()).not.toContain('Running jobs fails');

  await addLetter(database, 'carl');
  await vi.waitFor(async () => {
    const [job] = await jobs(database);
    expect(job?.locked_by).toEqual(expect.stringMatching(/^oncekit-/));
    expect(await isShown(database, job?.locked_by)).toBe(true);
  }, within);
  carl.open();
  await vi.waitFor(async () => {
    for (const to of ['dan', 'eve', 'fay']) {
      await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
      const calls = letter.mock.calls.length;
      const added = performance.now();
      await addLetter(database, to);
      await vi.waitFor(() => expect(letter.mock.calls.length).toBe(calls + 1), { ...within, interval: 5 });
      // Bounded: tried again until three in a row were heard of, which polls alone would not.
      expect(performance.now() - added).toBeLessThan(HEARD_MS);
    }
  }, within);
});

test('a statement of a handler’s own has a bound of its own, and then its place is free again', async () => {
  const proxy = await proxied();
  const ended = vi.fn();
  const letter = vi.fn<Letter>(async (payload, { query }) => {
    if ((payload as { to: string }).to !== 'ann') return;
    proxy.silence();
    await query('SELECT 1').catch((error) => ended(error.message));
  });
  start(database, letter, { connectionString: proxy.url, concurrency: 1, statementMs: 700 });
  await addLetter(database, 'ann');
  await addLetter(database, 'bob');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(2), within);
  expect(ended.mock.calls).toEqual([['The database did not answer within 700 ms.']]);
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
});

test('an answer that has come while the process stood still counts', async () => {
  const ended = vi.fn();
  const letter = vi.fn<Letter>(async (_, { query }) => {
    let isOver = false;
    const answered = query(`SELECT pg_sleep(${STALL_MS / 2000})`).then(() => 'answered');
    void answered.finally(() => {
      isOver = true;
    });
    await until('it is sent', async () => {
      const [{ sent }] = await database.client.$queryRaw<[{ sent: boolean }]>`
        SELECT EXISTS (SELECT FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event = 'PgSleep') AS sent`;
      return sent;
    });
    expect(isOver).toBe(false);
    await new Promise(setImmediate); // behind this come timers, and then what has arrived
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
    ended(await answered.catch((error) => error.message));
  });
  start(database, letter, { concurrency: 1, statementMs: 0.75 * STALL_MS });
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(ended).toHaveBeenCalled(), within);
  expect(ended.mock.calls).toEqual([['answered']]);
});

test('a connection may be given back twice: graphile-worker does so where it stops before LISTEN is answered', async () => {
  const pool = openPool(database.url, 1);
  onTestFinished(() => endWithin(pool));
  const again = await new Promise<() => void>((resolve) => {
    pool.connect((_, __, release) => {
      release();
      resolve(release);
    });
  });
  expect(again).not.toThrow();
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
});
