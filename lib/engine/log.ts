import { randomUUID } from 'node:crypto';
import { telemetryOf } from '../core/codes.ts';
import { isProduction } from '../core/environment.ts';
import { CodedError, IdempotencyError } from '../core/errors.ts';
import type { KeyStateOrAbsent } from '../core/key-state.ts';
import { currentTraceId } from '../telemetry/span.ts';

/**
 * One thing that happened to a key, in the fields of a log line. Holds no payload, no result and no secret: of the payload
 * only the first characters of its keyed hash, which tell two apart and nothing else.
 */
export interface LogEntry {
  /** `debug`: a duplicate was answered. `info`: as planned. `warn`: somebody may want to look. `error`: somebody must. */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** The event, in words that stay the same, to search for. */
  msg: string;
  operation: string;
  key: string;
  fingerprint?: string | undefined;
  /** How often the client has sent it, or an executor has taken it up. */
  attempt?: number | undefined;
  from_state?: KeyStateOrAbsent | undefined;
  to_state?: KeyStateOrAbsent | undefined;
  /** The code of a refusal or of an error. */
  code?: string | undefined;
  /** Names this one refusal: the `instance` of its problem document. */
  instance?: string | undefined;
  /** The error's name and code alone, and those of its cause: its message may hold what was sent. */
  error?: string | undefined;
  /** The message of an error of the kit's own, which holds nothing that was sent. */
  detail?: string | undefined;
  /** The unique constraint of the app's own that was violated, by its name. */
  constraint?: string | undefined;
  /** The trace it happened in. */
  correlation_id?: string | undefined;
}

type Log = (entry: LogEntry) => void;

/** The log with the trace of each entry, that never throws: it must not change the fate of what it reports. */
export function tracedLog<Entry extends object>(
  log: ((entry: Entry) => void | Promise<void>) | undefined,
): ((entry: Entry) => void) | undefined {
  if (!log) return undefined;
  return (entry) => {
    const correlationId = currentTraceId();
    const traced = correlationId ? { ...entry, correlation_id: correlationId } : entry;
    new Promise((resolve) => resolve(log(traced))).catch(() => {});
  };
}

/** The circumstances of an error that was not thrown on. Holds no payload and no result. */
export interface ErrorContext {
  operation: string;
  key: string;
  /**
   * `checks` (who acts, the schema, `admit`, the reading of the body) and `claim`: the handler did not run. `handler`, and
   * `answer` (its answer could not be made, stored or committed): everything was rolled back. `phases`: what was finished
   * stands, and the key can go on from there. `database`: it could not be asked, or did not answer. `setup`: the handler, the
   * completer or the answer of a callback has come upon a ConfigurationError; a key that is not settled can go on once that is
   * mended. `replay`, `afterCommit`, `onSettled`, `redirectTo` (or `refusedTo`) and `respond`: what was answered stands.
   */
  during: keyof typeof FATES;
  /** The unique constraint of yours that was violated, where the caller is told `already_exists`. */
  constraint?: string | undefined;
  /** Names this one refusal, for the log and for support. */
  instance: string;
}

/** Reports an error, and returns the name of the refusal that comes of it: its answer and its log line share that. */
export type ErrorReporter = (error: unknown, where: Omit<ErrorContext, 'instance'>) => string;

/**
 * Passes an error on to the app's `onError` and to its log. Never throws: what fails there must not change the fate of
 * what it reports.
 */
export function errorReporter(
  onError: ((error: unknown, context: ErrorContext) => void | Promise<void>) | undefined,
  log: Log | undefined,
): ErrorReporter {
  const report = onError ?? (log && isProduction() ? () => {} : logError);
  return (error, where) => {
    const instance = `urn:uuid:${randomUUID()}`;
    const context = { ...where, instance };
    if (log) logEntry(log, error, context);
    new Promise((resolve) => resolve(report(error, context))).catch(() => {}); // it may fail now, or later
    return instance;
  };
}

function logEntry(log: Log, error: unknown, { operation, key, during, constraint, instance }: ErrorContext): void {
  const code = constraint === undefined ? 'internal' : 'already_exists';
  log({
    level: telemetryOf(code).level,
    msg: FATES[during],
    operation,
    key,
    code: error instanceof CodedError ? error.code : code,
    error: errorName(error),
    detail: ownMessage(error),
    constraint,
    instance,
  });
}

/** An error's name, and its code as databases and networks give one: `P2002`, `40001`, `ECONNREFUSED`. Nothing that a person has entered. */
const SHORT = /^(?!\d{6})\w{1,60}$/;

const FATES = {
  checks: 'a check before the claim threw; the handler did not run',
  claim: 'the key could not be claimed; the handler did not run',
  handler: 'the handler threw; everything was rolled back and the key can be used again',
  answer: 'the answer could not be made, stored or committed; everything was rolled back and the key can be used again',
  phases: 'a run ended early; what was finished stands and the key can go on from there',
  setup: 'the kit is set up or used wrongly: see the error',
  database: 'the database could not be asked or did not answer',
  replay: 'the stored answer cannot be read; the effect stands',
  afterCommit: 'afterCommit threw; the answer stands',
  onSettled: 'onSettled threw; the answer stands',
  redirectTo: 'redirectTo or refusedTo threw; what was answered stands',
  respond: 'it is done, and its answer cannot be rendered',
};

/** A line on the console. Without the message in production: Prisma's hold the query's arguments, so the payload. */
function logError(error: unknown, { operation, key, during, constraint, instance }: ErrorContext): void {
  const where = `[oncekit] ${operation}: ${FATES[during]} (${key}, ${instance})`;
  if (isProduction()) console.error(where, errorName(error), constraint ?? ownMessage(error) ?? '');
  else console.error(where, error);
}

/** An error's name and code, and those of its causes: one of ours, and `fetch failed`, say less than theirs. */
export function errorName(error: unknown, depth = 1): string {
  if (!(error instanceof Error)) return typeof error;
  const { name, code, cause } = error as { name: unknown; code?: unknown; cause?: unknown };
  const own = [name, code].filter((word) => typeof word === 'string' && SHORT.test(word)).join(' ') || 'an error';
  return cause instanceof Error && depth < MAX_CAUSES ? `${own}, because of ${errorName(cause, depth + 1)}` : own;
}

const MAX_CAUSES = 3;

/** The message of our own errors, which hold no payload. Of others none. */
function ownMessage(error: unknown): string | undefined {
  return error instanceof IdempotencyError ? error.message : undefined;
}
