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
export { enqueueJob, type JobArguments, type JobOptions, type Task, type TaskHelpers, type Tasks } from './tasks.ts';
export { startWorker, type Worker, type WorkerOptions } from './worker.ts';
