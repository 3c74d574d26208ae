import { getEventListeners } from 'node:events';
import type { JobHelpers } from 'graphile-worker';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { until } from '../../scripts/testing/until.ts';
import { startJobs } from './jobs.ts';
import { Presence } from './liveness.ts';
import { endWithin, openPool } from './pool.ts';
import { addLetter, door, jobs, type Letter, start, within } from './worker.fixture.ts';

/** What keeps a job from being ended keeps no other from being begun. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
});
afterAll(() => database?.drop());
beforeEach(() => database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`);

/** Keeps a row's lock, as a transaction does that adds a job under the key of one that runs. */
async function lockJob(): Promise<pg.Client> {
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('BEGIN');
  await holder.query(`SELECT graphile_worker.add_job('letter', '{"to": "ann"}', job_key := 'ann')`);
  return holder;
}

test('the statement that ends a job waits for its row, however long, and is not taken for silence', async () => {
  const { client } = database;
  await client.$executeRaw`SELECT graphile_worker.add_job('letter', '{"to": "ann"}', job_key := 'ann')`;
  await client.$executeRaw`UPDATE graphile_worker._private_jobs SET locked_by = 'ann', locked_at = now()`;
  const [{ id }] = await client.$queryRaw<[{ id: bigint }]>`SELECT id FROM graphile_worker._private_jobs`;
  const holder = await lockJob();
  const pool = openPool(database.url, 1, bound(500));
  onTestFinished(() => endWithin(pool));
  const ender = await pool.connect();
  const text = 'DELETE FROM graphile_worker._private_jobs WHERE id = $1::bigint RETURNING pg_backend_pid() AS pid';
  const ended = ender.query({ name: 'complete_job/graphile_worker', text, values: [String(id)] });
  // It has been late, was found waiting, and was late again.
  const looks = new Set<string>();
  await until('it was looked at twice', async () => {
    const seen = await client.$queryRaw<{ look: string }[]>`
      SELECT pid || ' ' || query_start AS look FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE '%pg_blocking_pids%' AND pid <> pg_backend_pid()`;
    for (const { look } of seen) looks.add(look);
    return looks.size >= 2;
  });
  await holder.query('COMMIT');
  const { pid } = (await ender.query('SELECT pg_backend_pid() AS pid')).rows[0];
  expect((await ended).rows).toEqual([{ pid }]);
  ender.release();
});

/** Has the database refuse the end of jobs with a key. */
const refuseEnds = async () => {
  const { client } = database;
  await client.$executeRaw`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`;
  await client.$executeRaw`
    CREATE TRIGGER refuse BEFORE DELETE ON graphile_worker._private_jobs
      FOR EACH ROW WHEN (OLD.key IS NOT NULL) EXECUTE FUNCTION refuse()`;
  onTestFinished(async () => void (await client.$executeRaw`DROP FUNCTION IF EXISTS refuse CASCADE`));
};

test('a runner that ends by itself is replaced at once: its running job is finished, others begin meanwhile', async () => {
  const { client } = database;
  await refuseEnds();
  const long = door();
  let isLongOver = false;
  const told: string[] = [];
  const letter = vi.fn<Letter>(async (payload, { abortSignal }) => {
    const { to } = payload as { to: string };
    told.push(to);
    if (to !== 'long') return;
    abortSignal.addEventListener('abort', () => told.push('aborted'));
    await long.opened;
    isLongOver = true;
  });
  const worker = start(database, letter, { concurrency: 2, graceMs: 1 });
  await addLetter(database, 'long');
  await vi.waitFor(() => expect(told).toEqual(['long']), within);
  await client.$executeRaw`SELECT graphile_worker.add_job('letter', '{"to": "ann"}', job_key := 'ann')`;
  await vi.waitFor(() => expect(worker.lines.join()).toContain('Running jobs fails'), within);
  await addLetter(database, 'bob');
  await vi.waitFor(() => expect(told).toEqual(['long', 'ann', 'bob']), within);
  expect(isLongOver).toBe(false);
  await client.$executeRaw`DROP FUNCTION refuse CASCADE`;
  long.open();
  // Nobody ended it: it is run again once its runner is gone.
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
  expect(told).toEqual(['long', 'ann', 'bob', 'ann']);
});

test('jobs of a runner that ends and of the next one have a connection each', async () => {
  await refuseEnds();
  const long = door();
  const holding = new Set<string>();
  const letter: Letter = async (payload, helpers) => {
    const { to } = payload as { to: string };
    const { withPgClient } = helpers as typeof helpers & Pick<JobHelpers, 'withPgClient'>;
    if (to === 'ann') return;
    await withPgClient(async () => {
      holding.add(to);
      await long.opened;
    });
  };
  const worker = start(database, letter, { concurrency: 4 });
  onTestFinished(long.open);
  for (const to of ['a', 'b', 'c']) await addLetter(database, to);
  await vi.waitFor(() => expect(holding.size).toBe(3), within);
  await database.client.$executeRaw`SELECT graphile_worker.add_job('letter', '{"to": "ann"}', job_key := 'ann')`;
  await vi.waitFor(() => expect(worker.lines.join()).toContain('Running jobs fails'), within);
  for (const to of ['d', 'e', 'f', 'g']) await addLetter(database, to);
  await vi.waitFor(async () => {
    expect((await jobs(database)).filter((job) => job.last_error)).toEqual([]);
    expect([...holding].sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  }, within);
});

/** Jobs of a worker two of whose runners have ended by themselves, and have a job each that goes on. */
async function startTwice() {
  await refuseEnds();
  const doors = { first: door(), second: door() };
  const told: string[] = [];
  const letter: Letter = async (payload) => {
    const { to } = payload as { to: keyof typeof doors };
    told.push(to);
    await doors[to]?.opened;
  };
  const lines: string[] = [];
  const [stop, breakOff] = [new AbortController(), new AbortController()];
  const pool = openPool(database.url, 2);
  const options = {
    pool,
    concurrency: 2,
    graceMs: 1,
    statementMs: 5000,
    stopping: stop.signal,
    breakingOff: breakOff.signal,
  };
  const ended = startJobs({ own: { letter }, wakes: {} }, { ...options, log: (line) => lines.push(line) });
  onTestFinished(async () => {
    stop.abort();
    for (const { open } of Object.values(doors)) open();
    await ended;
    await endWithin(pool);
  });
  for (const [at, to] of Object.keys(doors).entries()) {
    await addLetter(database, to);
    await vi.waitFor(() => expect(told).toContain(to), within);
    await database.client.$executeRaw`SELECT graphile_worker.add_job('letter', '{"to": "ann"}', job_key := ${to})`;
    await vi.waitFor(
      () => expect(lines.filter((line) => line.includes('Running jobs fails'))).toHaveLength(at + 1),
      within,
    );
  }
  // A runner is tried again after 2.5 s at most, and each of the two shows itself once a second.
  const untilTriedAgain = async () => {
    const beat = vi.spyOn(Presence.prototype, 'beat');
    await vi.waitFor(() => expect(beat.mock.calls.length).toBeGreaterThan(10), within);
    const shown = new Set(beat.mock.contexts);
    beat.mockRestore();
    return shown;
  };
  return { told, doors, stop, breakOff, ended, untilTriedAgain };
}

test('a third runner waits until one of two that have ended is done, and none leaves a listener at the worker', async () => {
  const { told, doors, breakOff, untilTriedAgain } = await startTwice();
  expect(getEventListeners(breakOff.signal, 'abort')).toHaveLength(1);
  await addLetter(database, 'bob');
  await untilTriedAgain();
  expect(told).not.toContain('bob');
  doors.first.open();
  await vi.waitFor(() => expect(told).toContain('bob'), within);
});

test('a third runner that has waited for its place does not begin once the worker stops', async () => {
  const { doors, stop, ended, untilTriedAgain } = await startTwice();
  const shown = await untilTriedAgain();
  const show = vi.spyOn(Presence.prototype, 'show');
  onTestFinished(() => show.mockRestore());
  stop.abort();
  doors.first.open();
  doors.second.open();
  await ended;
  expect(show.mock.contexts.filter((presence) => !shown.has(presence))).toEqual([]);
});
