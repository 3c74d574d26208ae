import { isProduction } from '../core/environment.ts';
import { CodedError, IdempotencyError } from '../core/errors.ts';
import type { Log } from './log.ts';

/** The circumstances of an error that was not thrown on. Holds no payload and no result. */
export interface ErrorContext {
  operation: string;
  key: string;
  /**
   * `checks` (who acts, the schema, `admit`, the reading of the body) and `claim`: the handler did not run. `handler`, and
   * `answer` (its answer could not be made, stored or committed): everything was rolled back. `phases`: what was finished
   * stands, and the key can go on from there. `database`: it could not be asked, or did not answer. `setup`: the
   * handler or the completer has come upon a ConfigurationError; the key can go on once that is mended. The others: the effect stands.
   */
  during:
    | 'checks'
    | 'claim'
    | 'handler'
    | 'answer'
    | 'phases'
    | 'database'
    | 'setup'
    | 'replay'
    | 'afterCommit'
    | 'onSettled'
    | 'redirectTo'
    | 'respond';
  /** Names this one refusal, for the log and for support. */
  instance: string;
}

type Report<R> = (error: unknown, context: ErrorContext) => R;

/**
 * Passes an error on to the app's `onError` and to its log. Never throws: what fails there must not change the fate of
 * what it reports.
 */
export function errorReporter(onError: Report<void | Promise<void>> | undefined, log: Log | undefined): Report<void> {
  const report = onError ?? (log && isProduction() ? () => {} : logError);
  return (error, context) => {
    if (log) logEntry(log, error, context);
    try {
      Promise.resolve(report(error, context)).catch(() => {}); // an async `onError` fails later
    } catch {}
  };
}

function logEntry(log: Log, error: unknown, { operation, key, during, instance }: ErrorContext): void {
  const { name, code } = named(error);
  log({
    level: 'error',
    msg: FATES[during],
    operation,
    key,
    code: error instanceof CodedError ? error.code : 'internal',
    error: typeof code === 'string' && SHORT.test(code) ? `${name} ${code}` : name,
    detail: ownMessage(error),
    instance,
  });
}

/** An error's code, as databases and networks give one: `P2002`, `40001`, `ECONNREFUSED`. */
const SHORT = /^\w{1,40}$/;

const FATES: Record<ErrorContext['during'], string> = {
  checks: 'a check before the claim threw; the handler did not run',
  claim: 'the key could not be claimed; the handler did not run',
  handler: 'the handler threw; everything was rolled back and the key can be used again',
  answer: 'the answer could not be made, stored or committed; everything was rolled back and the key can be used again',
  phases: 'a run ended early; what was finished stands and the key can go on from there',
  setup: 'the kit is set up or used wrongly; once that is mended, the key can be used again',
  database: 'the database could not be asked or did not answer',
  replay: 'the stored answer cannot be read; the effect stands',
  afterCommit: 'afterCommit threw; the effect stands',
  onSettled: 'onSettled threw; the effect stands',
  redirectTo: 'redirectTo threw; the effect stands',
  respond: 'it is done, and its answer cannot be rendered',
};

/** A line on the console. Without the message in production: Prisma's hold the query's arguments, so the payload. */
function logError(error: unknown, { operation, key, during, instance }: ErrorContext): void {
  const { name, code } = named(error);
  const where = `[oncekit] ${operation}: ${FATES[during]} (${key}, ${instance})`;
  if (isProduction()) console.error(where, name, code ?? '', ownMessage(error) ?? '');
  else console.error(where, error);
}

function named(error: unknown): { name: string; code?: unknown } {
  return error instanceof Error ? (error as Error & { code?: unknown }) : { name: typeof error };
}

/** The message of our own errors, which hold no payload. Of others none. */
function ownMessage(error: unknown): string | undefined {
  return error instanceof IdempotencyError ? error.message : undefined;
}
