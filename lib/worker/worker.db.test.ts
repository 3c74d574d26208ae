import type { Logger } from 'graphile-worker';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { addLetter, door, idle, isShown, jobs, start, within } from './worker.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`);

test('runs a job with its payload, under a name that shows who runs it', async () => {
  const { opened, open } = door();
  const letter = vi.fn(() => opened);
  start(database, letter);
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);
  expect(letter).toHaveBeenCalledWith({ to: 'ann' }, expect.anything());
  const [job] = await jobs(database);
  expect(job?.locked_by).toMatch(/^oncekit-[0-9a-f-]{36}$/);
  // The lock that tells others that this worker lives is held while it holds a job.
  expect(await isShown(database, job?.locked_by)).toBe(true);
  open();
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
});

test('two workers share the work: two jobs that wait for each other both end', async () => {
  const both = door();
  let under = 0;
  const letter = async () => {
    under++;
    if (under === 2) both.open();
    await both.opened;
  };
  start(database, letter, { concurrency: 1 });
  start(database, letter, { concurrency: 1 });
  await addLetter(database, 'ann');
  await addLetter(database, 'bob');
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
});

test('a failed job keeps its words and is tried again later', async () => {
  const letter = vi.fn(async () => {
    throw new Error('no such street');
  });
  const worker = start(database, letter);
  await addLetter(database, 'ann');
  await vi.waitFor(async () => {
    expect(await jobs(database)).toEqual([{ locked_by: null, attempts: 1, last_error: 'no such street' }]);
  }, within);
  expect(worker.lines.join()).toContain('no such street');
});

test('N3 in production the log tells that a job failed, and nothing of what its error says', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  onTestFinished(() => void vi.unstubAllEnvs());
  const worker = start(database, ({ to }: { to: string }) => {
    throw Object.assign(new Error(`no such street: ${to}`), { code: 'P2000' });
  });
  await addLetter(database, 'Elm 5\nJobs: all is well');
  const failed = { attempts: 1, last_error: 'no such street: Elm 5\nJobs: all is well' };
  await vi.waitFor(async () => expect(await jobs(database)).toMatchObject([failed]), within);
  expect(worker.lines).toEqual([
    expect.stringMatching(/^Jobs: Failed task \d+ \(letter, attempt 1 of 25\): Error P2000$/),
  ]);
});

test('in production a line of a handler’s own about a failure is logged as it says it', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  onTestFinished(() => void vi.unstubAllEnvs());
  const worker = start(database, (_: unknown, helpers) => {
    const { logger } = helpers as unknown as { logger: Logger };
    for (const failure of [true, 'SMTP 550']) logger.error(`not sent: ${failure}`, { failure });
  });
  await addLetter(database, 'Elm 5');
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
  expect(worker.lines).toEqual(['Jobs: not sent: true', 'Jobs: not sent: SMTP 550']);
});

test('stop finishes the running job and leaves the next one to others', async () => {
  const { opened, open } = door();
  let signal: AbortSignal | undefined;
  const letter = vi.fn(async (_payload: unknown, helpers: { abortSignal: AbortSignal }) => {
    signal = helpers.abortSignal;
    await opened;
  });
  const worker = start(database, letter, { concurrency: 1, graceMs: 60_000 });
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);
  const [ann] = await jobs(database);
  const stopped = worker.stop();
  expect(worker.stop()).toBe(stopped);

  const other = vi.fn(async () => {});
  start(database, other);
  await addLetter(database, 'bob');
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([ann]), within);
  expect(other).toHaveBeenCalledTimes(1);
  expect(signal?.aborted).toBe(false);
  open();
  await stopped;
  await worker.ended;
  expect([letter.mock.calls.length, await jobs(database)]).toEqual([1, []]);
});

test('what does not end in time is told to stop, and given back', async () => {
  const told = vi.fn();
  let called = false;
  const worker = start(
    database,
    async (_payload, { abortSignal }) => {
      called = true;
      abortSignal.addEventListener('abort', told);
      await new Promise(() => {});
    },
    { graceMs: 0 },
  );
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(called).toBe(true), within);
  await worker.stop();
  expect(told).toHaveBeenCalled();
  expect(await jobs(database)).toMatchObject([{ locked_by: null, attempts: 1 }]);
});

test('completer and reaper run, are told when to stop, and a completer that does not is left behind', async () => {
  const idempotency = idle();
  const hanging = door();
  let signal: AbortSignal | undefined;
  const driven = {
    reap: idempotency.reap,
    completeDue: vi.fn(async (options?: { signal?: AbortSignal }) => {
      signal = options?.signal;
      await hanging.opened;
      return { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
    }),
  };
  const worker = start(database, undefined, { idempotency: driven, graceMs: 0 });
  await vi.waitFor(() => expect(driven.completeDue).toHaveBeenCalled(), within);
  await vi.waitFor(() => expect(driven.reap).toHaveBeenCalled(), within);
  expect(signal?.aborted).toBe(false);
  await worker.stop();
  expect(signal?.aborted).toBe(true);
  hanging.open();
});

test('stop lets a running pass of the completer end', async () => {
  const { opened, open } = door();
  const ends: boolean[] = [];
  const idempotency = {
    ...idle(),
    completeDue: vi.fn(async ({ signal }: { signal?: AbortSignal } = {}) => {
      await opened;
      ends.push(signal?.aborted ?? true);
      return { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
    }),
  };
  const worker = start(database, undefined, { idempotency, graceMs: 60_000 });
  await vi.waitFor(() => expect(idempotency.completeDue).toHaveBeenCalledTimes(3), within);
  const stopped = worker.stop();
  open();
  await stopped;
  expect(ends.length).toBeGreaterThanOrEqual(3);
  expect(ends).not.toContain(true);
});

test('a database that is not there is waited for', async () => {
  const later = await testDatabase();
  const name = new URL(later.url).pathname.slice(1);
  await later.client.$disconnect();
  await database.client.$executeRawUnsafe(`ALTER DATABASE ${name} RENAME TO ${name}_away`);
  const letter = vi.fn(async () => {});
  const worker = start(later, letter);
  await vi.waitFor(() => expect(worker.lines.join()).toContain('Running jobs fails'), within);
  await database.client.$executeRawUnsafe(`ALTER DATABASE ${name}_away RENAME TO ${name}`);
  await vi.waitFor(() => expect(worker.lines.join()).toContain('Running jobs works again'), within);
  await addLetter(later, 'ann');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);
  await worker.stop();
  await later.drop();
});
