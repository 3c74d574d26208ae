import { EventEmitter } from 'node:events';
import type { Job, Logger, TaskList, WorkerEvents, WorkerPool } from 'graphile-worker';
import type { Pool, PoolClient } from 'pg';
import { isProduction } from '../core/environment.ts';
import { assertSetUp } from '../core/errors.ts';
import { moment, untilAborted } from '../core/wait.ts';
import { describe } from '../messaging/destination.ts';
import { Presence } from './liveness.ts';
import { type LoopOptions, loop } from './loop.ts';
import { withStatementLimit } from './pool.ts';
import { INSTALL, type TaskHelpers, type Tasks } from './tasks.ts';

const BEAT_MS = 1000;
/** A migration of graphile-worker's may rewrite its tables. */
const MIGRATION_MS = 60_000;
/** The time in which a handler that heeds its abort signal may clean up. */
const AFTER_ABORT_MS = 500;

type GraphileWorker = typeof import('graphile-worker');

interface JobsOptions extends Pick<LoopOptions, 'stopping' | 'log'> {
  runner: GraphileWorker;
  pool: Pool;
  tasks: TaskList;
  concurrency: number;
  /** How long running jobs may go on after `stopping`, in milliseconds. */
  graceMs: number;
  /** How long one statement of a handler's own may take, in milliseconds. */
  statementMs: number;
  /** The end of that time: what handlers are given as their abort signal. */
  breakingOff: AbortSignal;
}

/**
 * The jobs of the app's own tasks, and those that wake the relay. Without graphile-worker the relay looks by itself.
 *
 * @throws ConfigurationError where the app has tasks and no graphile-worker
 */
export async function startJobs(
  { own, wakes }: { own: Tasks; wakes: Tasks },
  options: Omit<JobsOptions, 'runner' | 'tasks'>,
): Promise<void> {
  const tasks = { ...wakes, ...own };
  if (Object.keys(tasks).length === 0) return;
  const runner = await findGraphileWorker();
  if (runner) {
    // Runners that have ended by themselves, and whose jobs go on.
    const ending = new Set<Promise<void>>();
    const running = { ...options, runner, tasks: limitedTasks(tasks, options.statementMs, options.breakingOff) };
    const pass = (works: () => void) => runJobs(running, ending, works);
    await loop({ ...options, name: 'Running jobs', everyMs: 1000, pass });
    await Promise.all(ending);
    return;
  }
  const names = Object.keys(own);
  assertSetUp(
    names.length === 0,
    `Jobs are run by graphile-worker, which is not installed. Run: ${INSTALL}. Tasks: ${names.join(', ')}.`,
    { existing: 'no package graphile-worker', expected: 'graphile-worker 0.17' },
  );
}

/**
 * Runs jobs until `stopping`, then finishes those that run: within `graceMs`, after which they are told to stop
 * (`helpers.abortSignal`) and given back. Every job it takes is run at least once, by another worker if this one is
 * killed. Rejects when the database does not answer at the start, or as soon as the runner begins to end by itself: another one
 * takes the place of it, which finishes what it runs.
 */
async function runJobs(options: JobsOptions, ending: Set<Promise<void>>, onReady: () => void): Promise<void> {
  const { runner, pool, stopping } = options;
  if (ending.size > 1) await Promise.race(ending); // the pool has connections for two
  stopping.throwIfAborted();
  await withStatementLimit(MIGRATION_MS, () => runner.runMigrations({ pgPool: pool, logger: loggerFor(options) }));
  const presence = new Presence(pool);
  const events = new EventEmitter() as WorkerEvents;
  const ends = moment();
  events.once('pool:gracefulShutdown', ends.reach);
  await presence.show();
  onReady();
  const drained = drainShown(options, presence, events);
  const ended = drained.catch(() => {}).finally(() => ending.delete(ended));
  ending.add(ended);
  await Promise.race([ends.reached, drained]);
  if (!stopping.aborted) throw new Error('The job runner ended by itself.');
}

/** Runs jobs while others see that this worker lives. */
async function drainShown(options: JobsOptions, presence: Presence, events: WorkerEvents): Promise<void> {
  const ask = askListener(events);
  const finished = new AbortController();
  // Beats on while running jobs are finished. It never slows down: others take a worker for dead that is away long.
  const beats = loop({
    name: 'Freeing the jobs of killed workers',
    everyMs: BEAT_MS,
    capMs: BEAT_MS,
    pass: async () => {
      const [freed] = await Promise.all([presence.beat(), ask()]);
      if (freed.length > 0) options.log(`Freed the jobs of killed workers: ${freed.join(', ')}`);
    },
    stopping: finished.signal,
    log: options.log,
  });
  try {
    await untilDrained(startRunner(options, presence, events), options);
  } finally {
    finished.abort();
    await beats;
    presence.end();
  }
}

/**
 * Asks on the connection that listens for new jobs, if there is one. Nobody else asks anything on it, so that nobody would
 * notice that it has fallen silent; without an answer it is destroyed, and graphile-worker listens on a new one.
 */
function askListener(events: WorkerEvents): () => Promise<unknown> {
  let listener: PoolClient | undefined;
  events.on('pool:listen:success', ({ client }) => (listener = client));
  events.on('pool:listen:release', () => (listener = undefined));
  return async () => await listener?.query('SELECT 1').catch(() => {});
}

/**
 * The handlers, whose own statements may take longer than the runner's, and which are told to stop with the worker: the runner's own
 * signal would also end what runs on while another runner has taken its place.
 */
function limitedTasks(tasks: Tasks, statementMs: number, abortSignal: AbortSignal): TaskList {
  const abortPromise = untilAborted(abortSignal, () => new Promise(() => {}));
  abortPromise.catch(() => {});
  const run = (task: NonNullable<Tasks[string]>, payload: unknown, helpers: TaskHelpers) =>
    withStatementLimit(statementMs, () => task(payload, Object.assign(helpers, { abortSignal, abortPromise })));
  const limited = Object.entries(tasks).map(([name, task]) => [
    name,
    task && ((payload: unknown, helpers: TaskHelpers) => run(task, payload, helpers)),
  ]);
  return Object.fromEntries(limited) as TaskList;
}

function startRunner(options: JobsOptions, presence: Presence, events: WorkerEvents): WorkerPool {
  const { pool, concurrency } = options;
  // Jobs are marked with the runner's id, which graphile-worker draws. Ours says whose presence to look for; it is set
  // before the first job is asked for.
  events.once('pool:create', ({ workerPool }) => (workerPool.id = presence.workerId));
  const settings = {
    concurrency,
    events,
    logger: loggerFor(options),
    noHandleSignals: true,
    // Asked before each job: a worker that nobody sees must not take one. Throwing makes it ask again later.
    forbiddenFlags: () => {
      if (!presence.isShown) throw new Error('This worker does not show its presence.');
      return [];
    },
    // Without a batch (of 0 ms) graphile-worker does not wait for the statement that ends a job: a shutdown could
    // overtake it, and a failure would be an unhandled rejection.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };
  return options.runner.runTaskList(settings, options.tasks, pool);
}

async function untilDrained(runner: WorkerPool, { graceMs, stopping }: JobsOptions): Promise<void> {
  let forced: NodeJS.Timeout | undefined;
  const drain = () => {
    const quiet = () => {}; // said by the runner's own promise, and logged
    forced = setTimeout(() => {
      Promise.resolve(runner.forcefulShutdown('The worker stopped before the job ended.')).catch(quiet);
    }, graceMs + AFTER_ABORT_MS);
    if (!runner._shuttingDown) Promise.resolve(runner.gracefulShutdown()).catch(quiet);
  };
  stopping.addEventListener('abort', drain, { once: true });
  if (stopping.aborted) drain();
  try {
    await runner.promise;
  } catch (error) {
    // A job that had to be given back is no failure of the shutdown.
    if (!stopping.aborted) throw error;
  } finally {
    clearTimeout(forced);
    stopping.removeEventListener('abort', drain);
  }
}

/**
 * Failures alone. graphile-worker writes out what a job's error says: in Prisma's there is what somebody has sent, and a line break
 * in that would begin a line of its own.
 */
function loggerFor({ runner, log }: JobsOptions): Logger {
  return new runner.Logger(() => (level, message, meta) => {
    if (level !== 'error' && level !== 'warning') return;
    log(`Jobs: ${(isProduction() && withoutMessage(meta)) || message}`);
  });
}

/**
 * Says it by the details that graphile-worker gives its line about a job that has failed. Undefined of a line that a handler has
 * logged through its helpers, with a `failure` of its own.
 */
function withoutMessage(meta: object = {}): string | undefined {
  if (!('failure' in meta && 'job' in meta && 'error' in meta)) return undefined;
  const { job, error } = meta as { job: Job; error: unknown };
  return `Failed task ${job.id} (${job.task_identifier}, attempt ${job.attempts} of ${job.max_attempts}): ${describe(error)}`;
}

/** The package that jobs need, and nothing else: an optional peer of the kit. Undefined where the app has not installed it. */
async function findGraphileWorker(): Promise<GraphileWorker | undefined> {
  return await import('graphile-worker').catch((error) => {
    if (isNotInstalled(error)) return undefined;
    throw error;
  });
}

/** True where the package itself is missing; a package that it needs in turn is a broken installation, which says so. */
function isNotInstalled(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code ?? '') && /Cannot find (package|module) 'graphile-worker'/.test(message);
}
