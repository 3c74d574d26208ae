import type { LogEntry } from 'oncekit';
import type { AuditLogEntry } from 'oncekit/admin';
import { pino } from 'pino';

/**
 * The demo's log: JSON lines on stdout, from `LOG_LEVEL` on. Without one from `info` on.
 */
const logger = pino({
  level: process.env.LOG_LEVEL || (process.env.VITEST ? 'silent' : 'info'),
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
});

/** Writes down what happened to a key. */
export function logKey({ level, msg, ...fields }: LogEntry): void {
  logger[level](fields, msg);
}

/** Writes down what a person did. */
export function logAudit({ level, msg, ...fields }: AuditLogEntry): void {
  logger[level](fields, msg);
}
