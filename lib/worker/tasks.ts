import { ConfigurationError } from '../core/errors.ts';
import { assertTransaction, type RawQueries } from '../store/prisma/client.ts';
import { isOfState } from '../store/prisma/errors.ts';

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

/** How a job is run. */
export interface JobOptions {
  /** Of the jobs that wait under one key there is one: the newest takes the place of the others. */
  jobKey?: string;
  /** Not before this time. Default: at once. */
  runAt?: Date;
  /** Attempts in all. Default 25. */
  maxAttempts?: number;
  /** Smaller numbers run first. Default 0. */
  priority?: number;
  /** Jobs of one queue run one behind the other. */
  queueName?: string;
}

/** The name of a task, the payload that its handler takes, and how the job is run. */
export type JobArguments<Of extends Tasks> = {
  [Name in keyof Of & string]: [task: Name, payload: PayloadOf<Of[Name]>, options?: JobOptions];
}[keyof Of & string];

type PayloadOf<Handler> = Handler extends (payload: infer Payload, ...rest: never[]) => unknown ? Payload : unknown;

/** The command that installs graphile-worker. */
export const INSTALL = 'npm install graphile-worker@0.17';

const ADD_JOB = `
SELECT id::text AS id FROM graphile_worker.add_job($1::text, $2::text::json, job_key := $3::text, run_at := $4::text::timestamptz,
  max_attempts := $5::int, priority := $6::int, queue_name := $7::text)`;

/**
 * Adds a job in the transaction of its effect, so that it exists exactly if the effect does. A worker with that task then
 * runs it, at least once. Resolves with the job's id.
 *
 * `enqueueJob<typeof tasks>(tx, 'receipt', { orderId })` is checked against the handlers: their names, and what each takes.
 *
 * @param tx a handler's or a phase's, or that of `$transaction`
 * @throws ConfigurationError where the database has no job queue, and for a client in place of a transaction
 */
export async function enqueueJob<Of extends Tasks = Tasks>(tx: RawQueries, ...job: JobArguments<Of>): Promise<string> {
  const [task, payload, { jobKey, runAt, maxAttempts, priority, queueName } = {}] = job;
  assertTransaction(tx, 'A job is added by the transaction of its effect. Give `enqueueJob` its `tx`.');
  const at = runAt?.toISOString();
  const values = [task, JSON.stringify(payload ?? {}), jobKey, at, maxAttempts, priority, queueName];
  try {
    const [row] = await tx.$queryRawUnsafe<{ id: string }[]>(ADD_JOB, ...values.map((value) => value ?? null));
    return row?.id as string;
  } catch (error) {
    if (!isWithoutQueue(error)) throw error;
    throw new ConfigurationError(
      `The database has no job queue. Run: ${INSTALL}, then start a worker that has tasks, or run npx graphile-worker --schema-only.`,
      { existing: 'no function graphile_worker.add_job', expected: "graphile-worker's schema", cause: error },
    );
  }
}

/** True where the schema or its function is not there. */
const isWithoutQueue = isOfState('3F000', '42883');
