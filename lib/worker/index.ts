export { enqueueJob, type JobArguments, type JobOptions } from './enqueue-job.ts';
export type { Task, TaskHelpers, Tasks } from './graphile-worker.ts';
export {
  complete,
  type Driven,
  type Figures,
  inbox,
  line,
  type Messaging,
  PASSES,
  type PassOptions,
  reap,
  relay,
} from './passes.ts';
export { startWorker, type Worker, type WorkerOptions } from './worker.ts';
