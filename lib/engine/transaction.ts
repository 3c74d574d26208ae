import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../core/backoff.ts';
import { copyOf } from '../core/data.ts';
import { CodedError, ResultUnreadableError } from '../core/errors.ts';
import { assertTransition } from '../core/key-state.ts';
import type { Scope } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { Claim, Completion, ExecuteOptions, ExecutionResult } from '../store/store.ts';
import { recordDelay } from '../telemetry/keys.ts';
import { recordedTraceParent } from '../telemetry/span.ts';
import { encodeAnswer } from './answer.ts';
import { settingsFor } from './begin.ts';
import { type Call, pointOf } from './call.ts';
import type { FlightResult } from './call-result.ts';
import type { AtomicDefinition, OperationOptions } from './definition.ts';
import type { Engine } from './engine.ts';
import { type AfterCommit, createCapture, fail, type HandlerContext, runToAnswer } from './handler.ts';
import { recordTransition } from './instrumentation.ts';
import { retentionOf } from './thing.ts';

/** How often a transaction is tried in all that conflicts with others (C4). */
const MAX_TRIES = 5;
const JITTER = { baseMs: 20, capMs: 500 };

/** The call that an execution is for, with its function and input. */
interface Execution<Tx> extends Claiming {
  call: Call<Tx>;
  definition: AtomicDefinition<Tx>;
  input: unknown;
}

/** How a key is claimed. */
export interface Claiming {
  /** How long to wait for another's uncommitted claim, in milliseconds. */
  waitMs: number;
  /** The thing that it is done once for, where the operation names one. */
  thing: string | undefined;
}

/** One try of the handler in a transaction. */
interface Try<Tx> {
  capture: HandlerContext<never, Tx>['capture'];
  afterCommit: AfterCommit[];
  /** The handler has ended by itself, in an answer or a refusal: what was thrown came behind it. */
  hasAnswered: boolean;
}

/** Runs the handler and stores its answer in one transaction, again where that conflicts with others. */
export async function executeInTransaction<Tx>(execution: Execution<Tx>): Promise<FlightResult> {
  const { call, waitMs } = execution;
  const { slots, config } = call.engine;
  const capture = createCapture();
  if (config.onPoint) await config.onPoint('before-claim', pointOf(call));
  for (let attempt = 1; ; attempt++) {
    const first = await executeOnce(execution, capture, 0);
    const patience = Math.min(waitMs, timeLeft(call.deadline));
    const ended =
      first.kind === 'locked'
        ? await slots.again(first, patience, (wait) => executeOnce(execution, capture, wait))
        : first;
    if (ended.kind === 'committed') {
      const { state: to, fingerprint } = ended.row;
      recordTransition(config, call.id, { from: 'absent', to, attempt: call.request.attempt, fingerprint });
    }
    const conflicted = ended.kind === 'rolled_back' && ended.why === 'conflict';
    const mayRetry = conflicted && (call.request.innerRetries ?? true);
    if (!mayRetry || !(await mayTryAgain(attempt, call.deadline))) return ended;
  }
}

async function executeOnce<Tx>(
  execution: Execution<Tx>,
  capture: Try<Tx>['capture'],
  waitMs: number,
): Promise<FlightResult> {
  const { engine } = execution.call;
  const { onPoint, retentionMs } = engine.config;
  const current: Try<Tx> = { capture, afterCommit: [], hasAnswered: false };
  const run = (tx: Tx) => {
    // Of this run alone: a `$transaction` of the client's own may try again.
    current.afterCommit = onPoint ? [() => onPoint('after-commit', pointOf(execution.call))] : [];
    return runHandler(execution, tx, current);
  };
  const claim = claimOf(execution.call, retentionMs, { ...execution, waitMs });
  return resultOf(current, await engine.store.execute(claim, run, howToExecute(execution, waitMs)));
}

/** Runs the handler again in place of a stored answer that this version cannot read (R3). A refusal changes nothing. */
export async function executeAgain<Tx>(execution: Execution<Tx>): Promise<FlightResult> {
  const current: Try<Tx> = { capture: createCapture(), afterCommit: [], hasAnswered: false };
  const run = async (tx: Tx) => {
    const completion = await runHandler(execution, tx, current);
    if (completion.state === 'succeeded') return completion;
    throw new ResultUnreadableError(
      'result_unreadable',
      'The stored answer cannot be read, and running again was refused.',
    );
  };
  const { store, config } = execution.call.engine;
  return resultOf(
    current,
    await store.rerun(claimOf(execution.call, config.retentionMs, execution), run, howToExecute(execution, 0)),
  );
}

function resultOf<Tx>({ afterCommit, hasAnswered }: Try<Tx>, executed: ExecutionResult): FlightResult {
  if (executed.kind === 'committed') return { ...executed, afterCommit };
  if (executed.kind === 'rolled_back' && executed.at === 'run' && hasAnswered) return { ...executed, at: 'commit' };
  return executed;
}

/** The claim of a call's key, whose row is kept for so long. */
export function claimOf<Tx>(call: Call<Tx>, retentionMs: number, { waitMs, thing }: Claiming): Claim {
  const { id, mintedAt, fingerprint, engine, definition } = call;
  const { windowMs } = engine.config;
  return {
    tenant: id.tenant,
    principal: id.principal,
    operation: id.operation,
    key: id.key,
    mintedAt,
    windowMs,
    retentionMs: retentionOf(definition.options, retentionMs),
    fingerprint,
    schemaVersion: definition.options.schemaVersion ?? 1,
    waitMs,
    traceParent: recordedTraceParent(),
    thing,
  };
}

/** Waits before a conflicted transaction is tried again; false when it has been tried often enough, or time is up. */
export async function mayTryAgain(attempt: number, deadline: number): Promise<boolean> {
  const delay = fullJitter(attempt, JITTER, Math.random());
  if (attempt === MAX_TRIES || delay > timeLeft(deadline)) return false;
  recordDelay(delay, 'transaction');
  await wait(delay);
  return true;
}

/** How a transaction is executed: no part of it may take longer than the caller still has (H4). */
export function withinTime<Tx>(
  { timeoutMs = 5000, maxWaitMs = 2000, isolationLevel, durability }: OperationOptions<StandardSchema, Tx>,
  deadline: number,
  waitMs = 0,
): Omit<ExecuteOptions, 'beforeCommit'> {
  const left = Math.max(1, timeLeft(deadline));
  return {
    timeoutMs: Math.min(timeoutMs + waitMs, left),
    maxWaitMs: Math.min(maxWaitMs, left),
    isolationLevel,
    durability,
    deadline,
  };
}

/** The same of a transaction for a key of that scope, which begins as `begin` says. Throws as `settingsFor` does. */
export function asBegun<Tx>(
  { config }: Engine<Tx>,
  options: OperationOptions<StandardSchema, Tx>,
  { id, deadline, waitMs }: { id: Scope; deadline: number; waitMs?: number },
): Omit<ExecuteOptions, 'beforeCommit'> {
  return { ...withinTime(options, deadline, waitMs), begin: settingsFor(options.begin ?? config.begin, id) };
}

function howToExecute<Tx>({ call, definition }: Execution<Tx>, waitMs: number): ExecuteOptions {
  const { onPoint } = call.engine.config;
  // The last moment at which it can still be taken back: the caller has stopped listening.
  const assertInTime = () => {
    if (timeLeft(call.deadline) > 0) return;
    throw new CodedError('unavailable', "The caller's time is up; everything is rolled back.");
  };
  return {
    ...asBegun(call.engine, definition.options, { id: call.id, deadline: call.deadline, waitMs }),
    beforeCommit: onPoint
      ? async () => {
          await onPoint('before-commit', pointOf(call));
          assertInTime();
        }
      : assertInTime,
  };
}

/** In milliseconds, for a deadline of `performance.now()`. */
export function timeLeft(deadline: number): number {
  return deadline - performance.now();
}

async function runHandler<Tx>(
  { call, definition: { handler, options }, input: validated }: Execution<Tx>,
  tx: Tx,
  current: Try<Tx>,
): Promise<Completion> {
  const { onPoint } = call.engine.config;
  if (onPoint) await onPoint('after-claim', pointOf(call));
  // What one try changes of it, the next one must not see.
  const input = copyOf(validated);
  const { key, tenant, principal, operation } = call.id;
  const { context = [], response } = call.request;
  const { capture } = current;
  const scope = { tenant, principal, operation };
  const afterCommit = (run: AfterCommit) => void current.afterCommit.push(run);
  const handle = async () => {
    const data = await handler({ input: input as never, tx, key, scope, context, capture, fail, afterCommit });
    current.hasAnswered = true;
    return data;
  };
  const answer = await runToAnswer(handle, response);
  current.hasAnswered = true;
  if (answer.kind === 'refusal') {
    await options.onRefused?.(tx, { reason: answer.reason, data: answer.data, input, key, scope, steps: {} });
  }
  if (onPoint) await onPoint('after-handler', pointOf(call));
  const state = answer.kind === 'refusal' ? 'failed' : 'succeeded';
  assertTransition('in_progress', state);
  return { state, result: encodeAnswer(answer) };
}
