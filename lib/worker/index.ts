export { complete, type Driven, type Figures, line, PASSES, type PassOptions, reap } from './passes.ts';
export { startWorker, type Worker, type WorkerOptions } from './worker.ts';
