/** Shared by the tests of the worker: jobs of the task `letter`, and workers that are stopped when a test ends. */
import { onTestFinished, vi } from 'vitest';
import type { TestDatabase } from '../../scripts/testing/test-database.ts';
import { startWorker, type Worker, type WorkerOptions } from './worker.ts';

const nothing = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };

export const within = { interval: 25 };

export function idle() {
  return { completeDue: vi.fn(async () => nothing), reap: vi.fn(async () => 0) };
}

export type Letter = NonNullable<NonNullable<WorkerOptions['tasks']>[string]>;

export interface Running extends Worker {
  lines: string[];
}

/** A worker of this process that delivers letters by `letter`. */
export function start(database: TestDatabase, letter?: Letter, options: Partial<WorkerOptions> = {}): Running {
  const lines: string[] = [];
  const worker = startWorker({
    idempotency: idle(),
    connectionString: database.url,
    ...(letter ? { tasks: { letter } } : {}),
    log: (line) => lines.push(line),
    ...options,
  });
  onTestFinished(() => worker.stop());
  return { ...worker, lines };
}

export async function addLetter(database: TestDatabase, to: string): Promise<void> {
  await database.client.$executeRaw`
    SELECT graphile_worker.add_job('letter', json_build_object('to', ${to}::text))`;
}

export interface JobRow {
  locked_by: string | null;
  attempts: number;
  last_error: string | null;
}

/** Jobs that are not done, oldest first. */
export function jobs({ client }: TestDatabase): Promise<JobRow[]> {
  return client.$queryRaw`SELECT locked_by, attempts, last_error FROM graphile_worker.jobs ORDER BY id`;
}

/** True where other workers see that the one of this name lives. */
export async function isShown({ client }: TestDatabase, workerId: string | null | undefined): Promise<boolean> {
  const [{ free }] = await client.$queryRaw<[{ free: boolean }]>`
    SELECT pg_try_advisory_xact_lock(hashtextextended('oncekit.worker ' || ${workerId}, 0)) AS free`;
  return !free;
}

/** A door that is shut until `open` is called. */
export function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
