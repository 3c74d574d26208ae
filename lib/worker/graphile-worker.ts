import { ConfigurationError } from '../core/errors.ts';

/** The command that installs it. */
export const INSTALL = 'npm install graphile-worker@0.17';

export type GraphileWorker = typeof import('graphile-worker');

/** The package that jobs need, and nothing else: an optional peer of the kit. Undefined where the app has not installed it. */
export async function findGraphileWorker(): Promise<GraphileWorker | undefined> {
  try {
    return await import('graphile-worker');
  } catch (error) {
    if (isNotInstalled(error)) return undefined;
    throw error;
  }
}

/** True where the package itself is missing; a package that it needs in turn is a broken installation, which says so. */
function isNotInstalled(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string };
  return /MODULE_NOT_FOUND$/.test(code ?? '') && /Cannot find (package|module) 'graphile-worker'/.test(message);
}

/** The error for tasks that nobody can run. */
export function graphileWorkerMissing(tasks: string[]): ConfigurationError {
  return new ConfigurationError(
    `Jobs are run by graphile-worker, which is not installed. Run: ${INSTALL}. Tasks: ${tasks.join(', ')}.`,
    { existing: 'no package graphile-worker', expected: 'graphile-worker 0.17' },
  );
}

/** The helpers of a job's handler: the part of graphile-worker's that the kit promises. */
export interface TaskHelpers {
  job: {
    id: string;
    /** The job key that it was enqueued under. */
    key: string | null;
    task_identifier: string;
    /** Counts this run, too. */
    attempts: number;
    max_attempts: number;
    run_at: Date;
  };
  /** Aborted when the job is to end, because its worker stops. */
  abortSignal: AbortSignal;
  /** One statement on a connection of the worker's. */
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** Enqueues another job, in no transaction. */
  addJob(task: string, payload: unknown): Promise<unknown>;
}

/**
 * The handler of a task's jobs. It runs at least once for each job, so it must bear a repetition. One that is typed by
 * graphile-worker itself fits, too.
 */
// biome-ignore lint/suspicious/noExplicitAny: each handler has a payload of its own
export type Task<Payload = any> = {
  // As a method, so that a handler may ask for more of graphile-worker's helpers than is promised here.
  run(payload: Payload, helpers: TaskHelpers): unknown;
}['run'];

/** Handlers by the names of their tasks. The names are stored with the jobs. */
export type Tasks = Readonly<Record<string, Task | undefined>>;
