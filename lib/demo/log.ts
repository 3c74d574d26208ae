import type { LogEntry } from 'oncekit';
import { pino } from 'pino';

/**
 * The demo's log: JSON lines on stdout, from `LOG_LEVEL` on. Without one from `info` on; tests hear of errors at most.
 */
const logger = pino({
  level: process.env.LOG_LEVEL || defaultLevel(),
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
});

function defaultLevel(): string {
  if (process.env.VITEST) return 'silent';
  return process.env.DEMO_LEASE_MS ? 'error' : 'info';
}

/** Writes down what happened to a key. */
export function logKey({ level, msg, ...fields }: LogEntry): void {
  logger[level](fields, msg);
}
