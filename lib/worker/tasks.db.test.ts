import { afterAll, beforeAll, beforeEach, expect, expectTypeOf, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, effect, freshKey, kit } from '../integration/kit.fixture.ts';
import { enqueueJob, type JobArguments, type TaskHelpers } from './tasks.ts';
import { start, within } from './worker.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`);

const letter = async ({ to }: { to: string }, _helpers: TaskHelpers) => void to;
const tasks = { letter, sweep: async () => {} };

interface Waiting {
  task: string;
  payload: unknown;
  key: string | null;
  attempts: number;
}

/** What waits in the queue. */
function waiting(): Promise<Waiting[]> {
  return database.client.$queryRaw`
    SELECT t.identifier AS task, j.payload, j.key, j.max_attempts::int AS attempts
      FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id ORDER BY j.id`;
}

test('a job is there exactly if its transaction commits, and is run with its payload', async () => {
  const options = { jobKey: 'ann', maxAttempts: 3 };
  await expect(
    database.client.$transaction(async (tx) => {
      await enqueueJob<typeof tasks>(tx, 'letter', { to: 'nobody' });
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  const id = await database.client.$transaction((tx) => enqueueJob<typeof tasks>(tx, 'letter', { to: 'ann' }, options));
  expect(id).toMatch(/^\d+$/);
  expect(await waiting()).toEqual([{ task: 'letter', payload: { to: 'ann' }, key: 'ann', attempts: 3 }]);
  const received = vi.fn(async () => {});
  start(database, received);
  await vi.waitFor(() => expect(received).toHaveBeenCalledTimes(1), within);
  expect(received).toHaveBeenCalledWith({ to: 'ann' }, expect.anything());
});

test("in a handler, it is a row of the key's transaction", async () => {
  const sell = kit(database.client)
    .operation({ name: 'sell', schema: anything, acceptKeys: 'any' })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      await enqueueJob<typeof tasks>(tx, 'letter', { to: key }, { jobKey: key, runAt: new Date('2126-01-01') });
    });
  const request = { key: freshKey(), scope: ANN, payload: {} };
  for (let time = 0; time < 2; time++) expect(await sell.execute(request)).toMatchObject({ ok: true });
  expect(await waiting()).toEqual([{ task: 'letter', payload: { to: request.key }, key: request.key, attempts: 25 }]);
});

test('the client is refused, for it would add the job whether the transaction commits or not', async () => {
  await expect(enqueueJob(database.client, 'letter', {})).rejects.toThrow('Give `enqueueJob` its `tx`.');
  expect(await waiting()).toEqual([]);
});

test('names and payloads are those of the handlers', () => {
  expectTypeOf<JobArguments<typeof tasks>[0]>().toEqualTypeOf<'letter' | 'sweep'>();
  const call = (tx: typeof database.client) => {
    // @ts-expect-error there is no such task
    void enqueueJob<typeof tasks>(tx, 'lettre', { to: 'ann' });
    // @ts-expect-error its handler takes an object with `to`
    void enqueueJob<typeof tasks>(tx, 'letter', { too: 'ann' });
    void enqueueJob(tx, 'anything', { at: 'all' });
  };
  expectTypeOf(call).toBeFunction();
});

// Behind all others: it takes the queue from them.
test('a database without the queue says what to install', async () => {
  await database.client.$executeRawUnsafe('DROP SCHEMA graphile_worker CASCADE');
  const enqueued = database.client.$transaction((tx) => enqueueJob(tx, 'letter', {}));
  await expect(enqueued).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringContaining('npm install graphile-worker@0.17'),
    existing: 'no function graphile_worker.add_job',
  });
});
