import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, type Mock, onTestFinished, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { Presence } from './liveness.ts';
import { addLetter, door, jobs, start, within } from './worker.fixture.ts';

const CHILD = fileURLToPath(new URL('./crash.child.ts', import.meta.url));
let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await testDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});
beforeEach(() => database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`);

/** A worker in a process of its own, in the middle of its first job. */
async function childWithJob() {
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, database.url]);
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stderr.pipe(process.stderr);
  await addLetter(database, 'ann');
  await once(createInterface(child.stdout), 'line');
  return child;
}

/** A presence that ends with the test. */
function presence(): Presence {
  const one = new Presence(pool);
  onTestFinished(() => one.end());
  return one;
}

/** A job that is marked as run by somebody. */
async function lockedJob(holder: string): Promise<void> {
  await addLetter(database, 'ann');
  await database.client.$executeRaw`
    UPDATE graphile_worker._private_jobs SET locked_by = ${holder}, locked_at = now(), attempts = 1`;
}

const beats = async (one: Presence, count: number) => {
  const freed: string[][] = [];
  for (let n = 0; n < count; n++) freed.push(await one.beat());
  return freed;
};

test('the job of a worker that was killed is run by another one, in seconds', async () => {
  const child = await childWithJob();
  const letter = vi.fn(async () => {});
  const worker = start(database, letter);
  child.kill('SIGKILL');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
  expect(worker.lines.join()).toMatch(/Freed the jobs of killed workers: oncekit-/);
});

test('a paused worker keeps its job: only who is dead loses it', async () => {
  const child = await childWithJob();
  child.kill('SIGSTOP');
  expect(await beats(presence(), 4)).toEqual([[], [], [], []]);
  child.kill('SIGKILL');
  const [job] = await jobs(database);
  const watcher = presence();
  await vi.waitFor(async () => expect(await watcher.beat()).toEqual([job?.locked_by]), within);
  expect(await jobs(database)).toEqual([{ locked_by: null, attempts: 1, last_error: null }]);
});

test('who is missing for a moment is not dead: it takes three sightings in a row', async () => {
  const [away, watcher] = [presence(), presence()];
  await lockedJob(away.workerId);
  expect(await beats(watcher, 2)).toEqual([[], []]);
  await away.show();
  expect(await beats(watcher, 2)).toEqual([[], []]);
  away.end();
  await vi.waitFor(async () => expect(await shownBy(away.workerId)).toBeUndefined(), within);
  expect(await beats(watcher, 3)).toEqual([[], [], [away.workerId]]);
  expect(await beats(watcher, 1)).toEqual([[]]);
});

test('what was seen before the connection broke does not count', async () => {
  const [dead, watcher] = [presence(), presence()];
  await lockedJob(dead.workerId);
  expect(await beats(watcher, 2)).toEqual([[], []]);
  watcher.end();
  expect(watcher.isShown).toBe(false);
  expect(await beats(watcher, 3)).toEqual([[], [], [dead.workerId]]);
  expect(watcher.isShown).toBe(true);
});

test('who looks at the same moment is not taken for the worker that is looked for', async () => {
  const [dead, watcher] = [presence(), presence()];
  await lockedJob(dead.workerId);
  const other = await session();
  await other.query('BEGIN');
  await other.query(`SELECT pg_try_advisory_xact_lock_shared(${LOCK})`, [dead.workerId]);
  expect(await beats(watcher, 3)).toEqual([[], [], [dead.workerId]]);
});

test('a worker that comes back while its jobs are freed shows itself only when they are', async () => {
  const [away, watcher] = [presence(), presence()];
  await lockedJob(away.workerId);
  await beats(watcher, 2);
  const row = await session();
  await row.query('BEGIN');
  await row.query('SELECT FROM graphile_worker._private_jobs FOR UPDATE');
  const freeing = watcher.beat();
  await untilBlocked(1);
  const back = away.show();
  await untilBlocked(2);
  expect(away.isShown).toBe(false);
  await row.query('COMMIT');
  expect(await freeing).toEqual([away.workerId]);
  await back;
  expect(away.isShown).toBe(true);
});

test("jobs of another runner, which shows no presence, are none of ours; nor are one's own", async () => {
  const watcher = presence();
  for (const holder of ['pool-0123456789abcdef', watcher.workerId]) {
    await database.client.$executeRaw`DELETE FROM graphile_worker._private_jobs`;
    await lockedJob(holder);
    expect(await beats(watcher, 4)).toEqual([[], [], [], []]);
    expect(await jobs(database)).toMatchObject([{ locked_by: holder }]);
  }
});

test('a worker whose connection breaks shows itself again, and keeps the job it runs', async () => {
  const { opened, open } = door();
  const letter = vi.fn(() => opened);
  start(database, letter, { concurrency: 1 });
  const holder = await holderOf(letter);
  const before = await shownBy(holder);
  await (await session()).query('SELECT pg_terminate_backend($1)', [before]);
  await vi.waitFor(async () => {
    const now = await shownBy(holder);
    expect(now).toBeDefined();
    expect(now).not.toBe(before);
  }, within);
  open();
  await vi.waitFor(async () => expect(await jobs(database)).toEqual([]), within);
  expect(letter).toHaveBeenCalledTimes(1);
});

test('a worker that cannot show itself takes no job', async () => {
  const { opened, open } = door();
  const letter = vi.fn(() => opened);
  const worker = start(database, letter);
  const holder = await holderOf(letter);
  // Its name is taken in the moment in which its connection breaks.
  const thief = await session();
  const taken = thief.query(`SELECT pg_advisory_lock(${LOCK})`, [holder]);
  await untilBlocked(1);
  await (await session()).query('SELECT pg_terminate_backend($1)', [await shownBy(holder)]);
  await taken;
  await untilBlocked(1);
  await addLetter(database, 'bob');
  // It has tried for 5 s, and has been told about the job long before.
  await vi.waitFor(() => expect(worker.lines.join()).toContain('Freeing the jobs of killed workers fails'), within);
  expect((await jobs(database)).map((job) => job.attempts)).toEqual([1, 0]);
  await thief.query('SELECT pg_advisory_unlock_all()');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(2), within);
  open();
});

const LOCK = "hashtextextended('oncekit.worker ' || $1, 0)";

async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => {});
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

/** The name of the worker that has just taken a first job. */
async function holderOf(letter: Mock): Promise<string> {
  await addLetter(database, 'ann');
  await vi.waitFor(() => expect(letter).toHaveBeenCalledTimes(1), within);
  return (await jobs(database))[0]?.locked_by as string;
}

/** The server process that holds a worker's lock. */
async function shownBy(workerId: string): Promise<number | undefined> {
  const [row] = await database.client.$queryRaw<{ pid: number }[]>`
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended('oncekit.worker ' || ${workerId}, 0)`;
  return row?.pid;
}

/** Until so many sessions of this database wait for a lock. */
async function untilBlocked(count: number): Promise<void> {
  await vi.waitFor(async () => {
    const [row] = await database.client.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    expect(row?.count).toBe(count);
  }, within);
}
