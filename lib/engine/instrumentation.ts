import { telemetryOf } from '../core/codes.ts';
import type { Fingerprint } from '../core/fingerprint.ts';
import type { KeyStateOrAbsent } from '../core/key-state.ts';
import { isControlFlow } from '../core/redirect.ts';
import type { KeyId } from '../core/scope.ts';
import type { HeldKey } from '../store/leases.ts';
import { countKey, isMeasured, keyMetrics } from '../telemetry/metrics.ts';
import { inKeySpan, isTraced, linksTo, markFailed, recordedTraceParent, type Span } from '../telemetry/span.ts';
import type { FlightResult, Run } from './call-result.ts';
import type { Config } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import { loggedKey } from './identity.ts';
import type { LogEntry } from './log.ts';

/** One call of an operation, for whoever watches. */
interface Watched {
  config: Config;
  operation: string;
  request: ExecuteRequest;
}

/**
 * Runs a call in the span `idempotency.execute`, counts it and logs how it ended. Changes nothing about it. A call that an
 * earlier run's row has answered is linked to the trace of that run.
 */
export function instrumentCall<T>(call: Watched, work: () => Promise<Run<T>>): Promise<Run<T>> {
  // Whether anybody watches is asked first, because most of a call's cost would be the watching.
  const isWatched = call.config.log !== undefined || isTraced() || isMeasured();
  return isWatched ? watchCall(call, work) : work();
}

async function watchCall<T>(call: Watched, work: () => Promise<Run<T>>): Promise<Run<T>> {
  const startedAt = performance.now();
  const about = { operation: call.operation, key: loggedKey(call.request.key), attempt: call.request.attempt ?? 1 };
  return await inKeySpan('idempotency.execute', about, async (span) => {
    const run = await work();
    if (span) describe(span, run);
    report(call, run, performance.now() - startedAt);
    return run;
  });
}

/**
 * Runs a key that its executor has left, without its client, in the span `idempotency.complete`: the beginning of a trace
 * of its own, linked to the first run's.
 */
export async function instrumentCompletion(held: HeldKey, work: () => Promise<FlightResult>): Promise<FlightResult> {
  const { id, attempts, traceParent } = held;
  const about = { operation: id.operation, key: id.key, attempt: attempts, links: linksTo(traceParent) };
  return await inKeySpan('idempotency.complete', about, async (span) => {
    const ended = await work();
    span?.setAttribute('idempotency.outcome', 'row' in ended ? ended.row.state : ended.kind);
    if (span && ended.kind === 'suspended') markFailed(span, ended.error);
    return ended;
  });
}

function describe<T>(span: Span, run: Run<T>): void {
  const { outcome, row, thrown } = run;
  const word = outcome.ok ? 'succeeded' : outcome.code;
  span.setAttributes({ 'idempotency.outcome': word, 'idempotency.replayed': isReplayed(run) });
  if (outcome.key) span.setAttribute('idempotency.key', outcome.key);
  const firstRun = row?.traceParent;
  if (firstRun && firstRun !== recordedTraceParent(span)) span.addLinks(linksTo(firstRun));
  if (!outcome.ok && levelOf(run) === 'error') markFailed(span, thrown ?? new Error(outcome.code));
}

function report<T>(call: Watched, run: Run<T>, ms: number): void {
  const { config, operation, request } = call;
  const { outcome, row, instance } = run;
  const replayed = isReplayed(run);
  const code = outcome.ok ? undefined : outcome.code;
  keyMetrics()?.duration.record(ms, { operation, outcome: code ?? 'succeeded', replayed });
  const counted = replayed ? 'replayed' : code && telemetryOf(code).counter;
  if (counted) countKey(counted, operation);
  // This call's own execution is in the log as its transition, and a reported error by its instance.
  if (!config.log || instance || (!replayed && (outcome.ok || code === 'failed'))) return;
  config.log({
    level: replayed ? 'debug' : levelOf(run),
    msg: replayed ? 'duplicate answered' : 'call refused',
    operation,
    key: loggedKey(outcome.key ?? request.key),
    fingerprint: fingerprintPrefix(row?.fingerprint),
    attempt: request.attempt ?? 1,
    from_state: row?.state,
    to_state: row?.state,
    code,
  });
}

/** Tells whether the answer is one that was stored before: of a success it says so, of a refusal its row does. */
function isReplayed<T>({ outcome, row, isOwn }: Run<T>): boolean {
  if (outcome.ok) return outcome.replayed;
  return outcome.code === 'failed' && row !== undefined && !isOwn;
}

/** A thrown redirect is intended, whatever its code. */
function levelOf<T>({ outcome, thrown }: Run<T>): LogEntry['level'] {
  return outcome.ok || isControlFlow(thrown) ? 'info' : telemetryOf(outcome.code).level;
}

/** A step from one state to another that has been committed. */
interface Transition {
  from: KeyStateOrAbsent;
  to: KeyStateOrAbsent;
  attempt?: number | undefined;
  fingerprint?: Fingerprint | null | undefined;
}

/** Counts and logs a transition that has been committed. Costs nothing where the app does neither. */
export function recordTransition(config: Config, id: KeyId, { from, to, attempt, fingerprint }: Transition): void {
  const isNew = from !== to;
  const { msg, level = 'info', counted = from === 'absent' ? 'created' : undefined } = ENTRIES[to];
  if (isNew && counted) countKey(counted, id.operation);
  config.log?.({
    level: isNew ? level : 'info',
    msg: isNew ? msg : 'key taken up again',
    operation: id.operation,
    key: id.key,
    fingerprint: fingerprintPrefix(fingerprint),
    attempt,
    from_state: from,
    to_state: to,
  });
}

/** How the log and the counters see that a state is entered. A key that is taken up again enters the one it had. */
const ENTRIES: Record<
  KeyStateOrAbsent,
  { msg: LogEntry['msg']; level?: LogEntry['level']; counted?: Parameters<typeof countKey>[0] }
> = {
  absent: { msg: 'key gone' },
  in_progress: { msg: 'key claimed' },
  succeeded: { msg: 'key succeeded' },
  failed: { msg: 'key refused for good' },
  unknown: { msg: 'outcome unknown', level: 'warn', counted: 'unknown' },
  abandoned: { msg: 'key given up', counted: 'abandoned' },
};

/** How much of a fingerprint a log may hold. */
function fingerprintPrefix(fingerprint: Fingerprint | null | undefined): string | undefined {
  return fingerprint ? Buffer.from(fingerprint.hash.subarray(0, 4)).toString('hex') : undefined;
}
