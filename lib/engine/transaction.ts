import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../core/backoff.ts';
import { CodedError, ResultUnreadableError } from '../core/errors.ts';
import { assertTransition } from '../core/key-state.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { Claim, Completion, ExecuteOptions, Store } from '../store/store.ts';
import { encodeAnswer } from './answer.ts';
import type { Config } from './config.ts';
import type { OperationOptions } from './definition.ts';
import type { Ended } from './flights.ts';
import { answerOf, captures, fail, type HandlerContext } from './handler.ts';
import type { ResponseOptions } from './response.ts';
import type { WaitingSlots } from './slots.ts';

/** How often a transaction is tried in all that conflicts with others (C4). */
const MAX_TRIES = 5;
const JITTER = { baseMs: 20, capMs: 500 };

/** What one execution needs. */
export interface Plan<Tx> {
  store: Store<Tx>;
  slots: WaitingSlots;
  config: Config;
  options: OperationOptions<StandardSchema, Tx>;
  handler: (context: HandlerContext<never, Tx>) => Promise<unknown>;
  claim: Claim;
  input: unknown;
  /** Bound arguments: see `HandlerContext.context`. */
  context: readonly unknown[];
  response?: ResponseOptions | undefined;
  /** Whether a conflict is tried again here (C4), or left to the caller (H4). */
  innerRetries: boolean;
  /** When the caller's time is up, in milliseconds of `performance.now()`. */
  deadline: number;
}

/** What an execution in this process came to. */
export interface Attempted {
  executed: Ended;
  afterCommit: (() => void | Promise<void>)[];
}

/** Runs the handler and stores its answer in one transaction, again where that conflicts with others. */
export async function executeInTransaction<Tx>(plan: Plan<Tx>): Promise<Attempted> {
  const { claim, config, slots, deadline } = plan;
  const point = { operation: claim.operation, key: claim.key };
  const capture = captures();
  await config.onPoint('before-claim', point);
  for (let attempt = 1; ; attempt++) {
    const afterCommit = [() => config.onPoint('after-commit', point)];
    const attempted: Attempted = { executed: { kind: 'locked' }, afterCommit };
    const tryOnce = (waitMs: number) =>
      plan.store.execute(
        { ...claim, waitMs },
        (tx) => runHandler(plan, tx, capture, attempted),
        howToExecute(plan, waitMs),
      );
    const waitMs = Math.min(claim.waitMs, timeLeft(deadline));
    const executed = await slots.patiently(waitMs, tryOnce, ({ kind }) => kind === 'locked');
    attempted.executed = executed;
    const conflicted = executed.kind === 'rolled_back' && executed.why === 'conflict';
    if (!conflicted || !plan.innerRetries || !(await mayTryAgain(attempt, deadline))) return attempted;
  }
}

/** Waits before a conflicted transaction is tried again; false when it has been tried often enough, or time is up. */
export async function mayTryAgain(attempt: number, deadline: number): Promise<boolean> {
  const delay = fullJitter(attempt, JITTER, Math.random());
  if (attempt === MAX_TRIES || delay > timeLeft(deadline)) return false;
  await wait(delay);
  return true;
}

/** Runs the handler again in place of a stored answer that this version cannot read (R3). A refusal changes nothing. */
export async function executeAgain<Tx>(plan: Plan<Tx>): Promise<Attempted> {
  const attempted: Attempted = { executed: { kind: 'locked' }, afterCommit: [] };
  const run = async (tx: Tx) => {
    const completion = await runHandler(plan, tx, captures(), attempted);
    if (completion.state === 'succeeded') return completion;
    throw new ResultUnreadableError(
      'result_unreadable',
      'The stored answer cannot be read, and running again was refused.',
    );
  };
  attempted.executed = await plan.store.rerun(plan.claim, run, howToExecute(plan, 0));
  return attempted;
}

/** How a transaction is executed: no part of it may take longer than the caller still has (H4). */
export function withinTime<Tx>(
  { timeoutMs = 5000, maxWaitMs = 2000, isolationLevel }: OperationOptions<StandardSchema, Tx>,
  deadline: number,
  waitMs = 0,
): Omit<ExecuteOptions, 'beforeCommit'> {
  const left = Math.max(1, timeLeft(deadline));
  return { timeoutMs: Math.min(timeoutMs + waitMs, left), maxWaitMs: Math.min(maxWaitMs, left), isolationLevel };
}

function howToExecute<Tx>({ claim, config, options, deadline }: Plan<Tx>, waitMs: number): ExecuteOptions {
  return {
    ...withinTime(options, deadline, waitMs),
    beforeCommit: async () => {
      await config.onPoint('before-commit', { operation: claim.operation, key: claim.key });
      // The last moment at which it can still be taken back: the caller has stopped listening.
      if (timeLeft(deadline) <= 0)
        throw new CodedError('unavailable', "The caller's time is up; everything is rolled back.");
    },
  };
}

/** In milliseconds, for a deadline of `performance.now()`. */
export function timeLeft(deadline: number): number {
  return deadline - performance.now();
}

async function runHandler<Tx>(
  { config, options, handler, claim, input, context, response }: Plan<Tx>,
  tx: Tx,
  capture: HandlerContext<never, Tx>['capture'],
  attempted: Attempted,
): Promise<Completion> {
  const point = { operation: claim.operation, key: claim.key };
  await config.onPoint('after-claim', point);
  const { tenant, principal, operation, key } = claim;
  const afterCommit = (run: () => void | Promise<void>) => void attempted.afterCommit.push(run);
  const scope = { tenant, principal, operation };
  const answer = await answerOf(
    () => handler({ input: input as never, tx, key, scope, context, capture, fail, afterCommit }),
    response,
  );
  if (answer.kind === 'refusal') {
    await options.onRefused?.(tx, { reason: answer.reason, data: answer.data, input, key, scope });
  }
  await config.onPoint('after-handler', point);
  const state = answer.kind === 'refusal' ? 'failed' : 'succeeded';
  assertTransition('in_progress', state);
  return { state, result: encodeAnswer(answer) };
}
