import type { Pool } from 'pg';
import { untilAborted } from '../core/wait.ts';
import { startJobs } from './jobs.ts';
import { loop } from './loop.ts';
import {
  complete,
  type Driven,
  type Figures,
  inbox,
  type Keys,
  line,
  type Messaging,
  type PASSES,
  reap,
} from './passes.ts';
import { endWithin, openPool } from './pool.ts';
import { relayLoops } from './relay.ts';
import type { Tasks } from './tasks.ts';

/** Keys of one operation that are driven at once: each has a share of its own, however slow another's provider is. */
const LIMIT = 15;
/** After everything was told to stop, and has not. */
const AT_LAST_MS = 2000;

/** The settings of a worker. Every `…Ms` is in milliseconds. */
export interface WorkerOptions extends Messaging {
  /** `createIdempotency`'s result. Import the modules that define its operations too: only known ones are completed. */
  idempotency: Keys;
  /** Straight to PostgreSQL or through a pooler in session mode: a worker needs its session for itself. */
  connectionString: string;
  /**
   * Handlers of jobs by task. Each runs at least once for a job, so it must bear a repetition. They need graphile-worker, which
   * the app installs; without tasks it may be missing.
   */
  tasks?: Tasks;
  /** Jobs at once. */
  concurrency?: number;
  /**
   * How long one statement of a job handler's may take that goes through its `helpers`. Then its connection is destroyed and
   * the statement rejects; the server may still finish it. Default 300,000.
   */
  statementMs?: number;
  completeEveryMs?: number;
  reapEveryMs?: number;
  /** How often the relay looks by itself: for what is to be sent again, and what nobody has woken it for. */
  relayEveryMs?: number;
  /** How long what is running may go on once the worker is stopped. */
  graceMs?: number;
  log?: (line: string) => void;
}

/** A worker that runs in this process. */
export interface Worker {
  /**
   * Takes nothing new, lets what is running finish for `graceMs`, then breaks it off and gives it back. Resolves at
   * most 2 s after that. Never rejects.
   */
  stop(): Promise<void>;
  /** Resolves when the worker has stopped. Rejects with a `ConfigurationError` where its tasks lack graphile-worker. */
  readonly ended: Promise<void>;
}

/**
 * Starts a worker in this process: completer, reaper and job handlers, next to any number of others on the same
 * database. An operation in phases whose process dies is finished, without its client, within its lease and 5 s. A
 * database that is away, now or later, is waited for; connections that have fallen silent are replaced within 20 s.
 *
 * Completer, reaper and relay are loops of our own, not jobs of the runner: a killed worker would hold the job that is to
 * clean up after killed workers. A job only wakes the relay.
 */
export function startWorker(options: WorkerOptions): Worker {
  const { connectionString, concurrency = 2, graceMs = 5000, log = console.error } = options;
  const driven: Driven = { ...options.idempotency, outbox: options.outbox, inbox: options.inbox };
  void warnOutdatedSchema(driven, log);
  const [stopping, breakingOff, givenUp] = [new AbortController(), new AbortController(), new AbortController()];
  const pool = openPool(connectionString, concurrency);
  let failure: Error | undefined;
  const loops = startLoops(driven, { ...options, concurrency, graceMs, log }, pool, {
    stopping: stopping.signal,
    breakingOff: breakingOff.signal,
    fail: (error) => {
      failure = error;
      stopping.abort();
    },
  });
  const close = () => endWithin(pool);
  const ended = untilAborted(givenUp.signal, () => Promise.all(loops))
    .then(close, close)
    .then(() => {
      if (failure) throw failure;
    });
  const drain = async () => {
    stopping.abort();
    const grace = setTimeout(() => breakingOff.abort(), graceMs);
    const last = setTimeout(() => givenUp.abort(), graceMs + AT_LAST_MS);
    await ended.catch(() => {});
    clearTimeout(grace);
    clearTimeout(last);
  };
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= drain()), ended };
}

type LoopSettings = WorkerOptions & Required<Pick<WorkerOptions, 'concurrency' | 'graceMs' | 'log'>>;

/** The loops of keys, messages and jobs. None of them rejects. */
function startLoops(
  driven: Driven,
  settings: LoopSettings,
  pool: Pool,
  { stopping, breakingOff, fail }: { stopping: AbortSignal; breakingOff: AbortSignal; fail(error: Error): void },
): Promise<void>[] {
  const { tasks = {}, concurrency, graceMs, log, statementMs = 300_000 } = settings;
  const { completeEveryMs = 1000, reapEveryMs = 60_000, relayEveryMs = 1000 } = settings;
  const base = { stopping, log };
  const tell = (task: string, figures: Figures) => {
    if (Object.values(figures).some((count) => count > 0)) log(line(task, figures));
  };
  const startPass = (name: string, task: string, run: Pass, how: { everyMs: number; overlaps?: boolean }) => {
    const pass = async () => tell(task, await run(driven, { until: stopping, signal: breakingOff, limit: LIMIT }));
    return loop({ ...base, ...how, name, pass });
  };
  const loops = [
    // A batch takes as long as its slowest foreign call; the passes behind it keep in time what else is due.
    startPass('The completer', 'complete', complete, { everyMs: completeEveryMs, overlaps: true }),
    startPass('The reaper', 'reap', reap, { everyMs: reapEveryMs }),
  ];
  const relays = relayLoops(driven.outbox, { ...base, everyMs: relayEveryMs, breakingOff, tell });
  loops.push(...relays.loops);
  if (driven.inbox) loops.push(startPass('The inbox', 'inbox', inbox, { everyMs: completeEveryMs, overlaps: true }));
  const jobs = { ...base, breakingOff, pool, concurrency, graceMs, statementMs };
  loops.push(startJobs({ own: tasks, wakes: relays.tasks }, jobs).catch(fail));
  return loops;
}

type Pass = (typeof PASSES)[string];

/** Says at once, with what to run, why every pass would fail. Without it each says the same later, one by one. */
async function warnOutdatedSchema(driven: Driven, log: (line: string) => void): Promise<void> {
  const hasMessages = driven.outbox !== undefined || driven.inbox !== undefined;
  // The loops report a database that is away, and wait for it.
  const states = (await driven.readSchema?.().catch(() => undefined)) ?? [];
  for (const { part, existing, expected, advice } of states) {
    if (!advice || (part === 'messaging' && !hasMessages)) continue;
    log(`The database has ${existing}, and this worker needs ${expected}. ${advice}`);
  }
}
