import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../core/backoff.ts';
import { CodedError, ResultUnreadableError } from '../core/errors.ts';
import { assertTransition } from '../core/key-state.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { Claim, Completion, Executed, ExecuteOptions } from '../store/store.ts';
import { recordDelay } from '../telemetry/keys.ts';
import { recordedTraceParent } from '../telemetry/trace-parent.ts';
import { encodeAnswer } from './answer.ts';
import { type Call, pointOf } from './call.ts';
import type { AtomicDefinition, OperationOptions } from './definition.ts';
import { createCapture, fail, type HandlerContext, runToAnswer } from './handler.ts';
import type { ExecutionResult } from './single-flight.ts';
import { recordTransition } from './transition.ts';

/** How often a transaction is tried in all that conflicts with others (C4). */
const MAX_TRIES = 5;
const JITTER = { baseMs: 20, capMs: 500 };

/** What one execution needs. */
export interface Plan<Tx> {
  call: Call<Tx>;
  definition: AtomicDefinition<Tx>;
  input: unknown;
  /** How long to wait for another's uncommitted claim, in milliseconds. */
  waitMs: number;
}

/** What an execution in this process came to. */
export interface Attempted {
  executed: ExecutionResult;
  afterCommit: (() => void | Promise<void>)[];
  /** The handler has ended by itself, in an answer or a refusal: what was thrown came behind it. */
  hasAnswered?: boolean;
}

/** Runs the handler and stores its answer in one transaction, again where that conflicts with others. */
export async function executeInTransaction<Tx>(plan: Plan<Tx>): Promise<Attempted> {
  const { call, waitMs } = plan;
  const { store, slots, config } = call.engine;
  const { onPoint } = config;
  const capture = createCapture();
  if (onPoint) await onPoint('before-claim', pointOf(call));
  for (let attempt = 1; ; attempt++) {
    const attempted: Attempted = { executed: { kind: 'locked' }, afterCommit: [] };
    if (onPoint) attempted.afterCommit.push(() => onPoint('after-commit', pointOf(call)));
    const tryOnce = (wait: number) =>
      store.execute(claimOf(plan, wait), (tx) => runHandler(plan, tx, capture, attempted), howToExecute(plan, wait));
    const first = await tryOnce(0);
    const patience = Math.min(waitMs, timeLeft(call.deadline));
    const executed = isLocked(first) ? await slots.again(first, patience, tryOnce) : first;
    attempted.executed = executed;
    if (executed.kind === 'committed') {
      const { state: to, fingerprint } = executed.row;
      recordTransition(config, call.id, { from: 'absent', to, attempt: call.request.attempt, fingerprint });
    }
    const conflicted = executed.kind === 'rolled_back' && executed.why === 'conflict';
    const mayRetry = conflicted && (call.request.innerRetries ?? true);
    if (!mayRetry || !(await mayTryAgain(attempt, call.deadline))) return attempted;
  }
}

function isLocked({ kind }: Executed): boolean {
  return kind === 'locked';
}

function claimOf<Tx>({ call, definition }: Plan<Tx>, waitMs: number): Claim {
  const { id, mintedAt, fingerprint, engine } = call;
  const { windowMs, retentionMs } = engine.config;
  return {
    tenant: id.tenant,
    principal: id.principal,
    operation: id.operation,
    key: id.key,
    mintedAt,
    windowMs,
    retentionMs,
    fingerprint,
    schemaVersion: definition.options.schemaVersion ?? 1,
    waitMs,
    traceParent: recordedTraceParent(),
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

/** Runs the handler again in place of a stored answer that this version cannot read (R3). A refusal changes nothing. */
export async function executeAgain<Tx>(plan: Plan<Tx>): Promise<Attempted> {
  const attempted: Attempted = { executed: { kind: 'locked' }, afterCommit: [] };
  const run = async (tx: Tx) => {
    const completion = await runHandler(plan, tx, createCapture(), attempted);
    if (completion.state === 'succeeded') return completion;
    throw new ResultUnreadableError(
      'result_unreadable',
      'The stored answer cannot be read, and running again was refused.',
    );
  };
  attempted.executed = await plan.call.engine.store.rerun(claimOf(plan, 0), run, howToExecute(plan, 0));
  return attempted;
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

function howToExecute<Tx>({ call, definition }: Plan<Tx>, waitMs: number): ExecuteOptions {
  const { onPoint } = call.engine.config;
  // The last moment at which it can still be taken back: the caller has stopped listening.
  const assertInTime = () => {
    if (timeLeft(call.deadline) > 0) return;
    throw new CodedError('unavailable', "The caller's time is up; everything is rolled back.");
  };
  return {
    ...withinTime(definition.options, call.deadline, waitMs),
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
  { call, definition: { handler, options }, input }: Plan<Tx>,
  tx: Tx,
  capture: HandlerContext<never, Tx>['capture'],
  attempted: Attempted,
): Promise<Completion> {
  const { onPoint } = call.engine.config;
  if (onPoint) await onPoint('after-claim', pointOf(call));
  const { tenant, principal, operation, key } = call.id;
  const { context = [], response } = call.request;
  const afterCommit = (run: () => void | Promise<void>) => void attempted.afterCommit.push(run);
  const scope = { tenant, principal, operation };
  attempted.hasAnswered = false;
  const hasAnswered = () => {
    attempted.hasAnswered = true;
  };
  const handle = () => handler({ input: input as never, tx, key, scope, context, capture, fail, afterCommit });
  const answer = await runToAnswer(handle, response, hasAnswered);
  hasAnswered();
  if (answer.kind === 'refusal') {
    await options.onRefused?.(tx, { reason: answer.reason, data: answer.data, input, key, scope });
  }
  if (onPoint) await onPoint('after-handler', pointOf(call));
  const state = answer.kind === 'refusal' ? 'failed' : 'succeeded';
  assertTransition('in_progress', state);
  return { state, result: encodeAnswer(answer) };
}
