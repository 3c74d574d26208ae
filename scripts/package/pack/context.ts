import type { Server } from './database.ts';
import type { Report } from './report.ts';

/** Each part of `test:pack` works with it. */
export interface Context {
  report: Report;
  server: Server;
  /** Ends whatever runs. */
  signal: AbortSignal;
  /** Also what takes longer than `npm test` can bear. */
  isThorough: boolean;
}
