import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../core/backoff.ts';
import { copyOf, isPlainObject } from '../core/data.ts';
import { CodedError, ConfigurationError, ResultUnreadableError } from '../core/errors.ts';
import { assertTransition } from '../core/key-state.ts';
import { assertKnownOptions, optionNames, returned } from '../core/options.ts';
import { executedBy } from '../core/outcome.ts';
import type { Scope } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import { proceed } from '../core/wait.ts';
import type { Claim, Completion, ExecuteOptions, ExecutionResult, Setting } from '../store/store.ts';
import { recordDelay } from '../telemetry/metrics.ts';
import { recordedTraceParent } from '../telemetry/span.ts';
import { encodeAnswer, withAddress } from './answer.ts';
import { type Call, pointOf } from './call.ts';
import type { FlightResult } from './call-result.ts';
import { timeLeft, withinTime } from './deadline.ts';
import type { AtomicDefinition, Begin, OperationOptions, TransactionSettings } from './definition.ts';
import type { Engine } from './engine.ts';
import { type AfterCommit, createCapture, defer, fail, type HandlerContext, runToEnd } from './handler.ts';
import { recordTransition } from './instrumentation.ts';
import { answerOf } from './kept.ts';
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

type Capture = HandlerContext<never, never>['capture'];

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

async function executeOnce<Tx>(execution: Execution<Tx>, capture: Capture, waitMs: number): Promise<FlightResult> {
  const { call } = execution;
  const { store, config } = call.engine;
  const { onPoint, retentionMs } = config;
  let made: Made | undefined;
  const run = async (tx: Tx) => {
    made = undefined; // of this run alone: a `$transaction` of the client's own may try again
    const afterCommit = onPoint ? [() => onPoint('after-commit', pointOf(call))] : [];
    made = await runHandler(execution, tx, { capture, afterCommit });
    return await completionOf(execution, tx, made);
  };
  const claim = claimOf(call, retentionMs, { ...execution, waitMs });
  return resultOf(await store.execute(claim, run, howToExecute(execution, waitMs)), made);
}

/** Runs the handler again in place of a stored answer that this version cannot read (R3). A refusal changes nothing. */
export async function executeAgain<Tx>(execution: Execution<Tx>): Promise<FlightResult> {
  const { store, config } = execution.call.engine;
  const capture = createCapture();
  let made: Made | undefined;
  const run = async (tx: Tx) => {
    made = undefined;
    made = await runHandler(execution, tx, { capture, afterCommit: [] });
    const completion = await completionOf(execution, tx, made);
    if (completion.state === 'succeeded') return completion;
    const words = 'The stored answer cannot be read, and running again was refused.';
    throw new ResultUnreadableError('result_unreadable', words);
  };
  const claim = claimOf(execution.call, config.retentionMs, execution);
  return resultOf(await store.rerun(claim, run, howToExecute(execution, 0)), made);
}

function resultOf(ended: ExecutionResult, made: Made | undefined): FlightResult {
  if (!made) return ended;
  if (ended.kind === 'committed') return { ...ended, afterCommit: made.afterCommit };
  return ended.kind === 'rolled_back' && ended.at === 'run' ? { ...ended, at: 'commit' } : ended;
}

/** The claim of a call's key, whose row is kept for so long. */
export function claimOf<Tx>(call: Call<Tx>, retentionMs: number, { waitMs, thing }: Claiming): Claim {
  const { id, mintedAt, fingerprint, engine, definition } = call;
  const { windowMs } = engine.config;
  return {
    ...id,
    mintedAt,
    windowMs,
    retentionMs: retentionOf(definition.options, retentionMs),
    fingerprint,
    schemaVersion: definition.options.schemaVersion ?? 1,
    waitMs,
    traceParent: recordedTraceParent(),
    thing,
    holdsForever: definition.options.holdFor === 'forever',
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

/** How a transaction for a key of that scope is executed: in time, and begun as `begin` says. Throws as `settingsFor` does. */
export function asBegun<Tx>(
  { config }: Engine<Tx>,
  options: OperationOptions<StandardSchema, Tx>,
  { id, deadline, waitMs }: { id: Scope; deadline: number; waitMs?: number },
): Omit<ExecuteOptions, 'beforeCommit'> {
  return { ...withinTime(options, deadline, waitMs), begin: settingsFor(options.begin ?? config.begin, id) };
}

const KNOWN = optionNames<TransactionSettings>()('role settings');
/** PostgreSQL's own have no dot: they could undo the role, the durability, or the place of the kit's tables. */
const SETTING = /^(?!oncekit\.)[a-z_][\w$]*(\.[a-z_][\w$]*)+$/i;

/**
 * What a transaction for that scope begins with, by the `begin` of its operation or of the kit: a copy, whatever becomes of what
 * `begin` returned.
 *
 * @throws ConfigurationError for what could not be set as it is meant, so that nobody's rows are seen by mistake; and what
 *   `begin` throws
 */
function settingsFor(
  begin: Begin | undefined,
  { tenant, principal, operation }: Scope,
): readonly Setting[] | undefined {
  if (begin === undefined) return undefined;
  const unusable = (existing: unknown, expected: string) =>
    new ConfigurationError(`What begin of ${operation} says cannot be set for a transaction.`, {
      existing: typeof existing === 'string' ? `a string of ${existing.length} characters` : typeof existing,
      expected,
    });
  if (typeof begin !== 'function') throw unusable(begin, 'begin: ({ scope }) => ({ role, settings })');
  const said = begin({ scope: { tenant, principal, operation } });
  const what = `begin of ${operation}`;
  const given = returned<TransactionSettings>(what, said, isPlainObject, 'an object, such as { role, settings }');
  assertKnownOptions(what, given, KNOWN);
  const { role, settings } = { settings: {}, ...given };
  // PostgreSQL takes `none` for no role at all.
  if ('role' in given && (!isText(role) || role === 'none')) throw unusable(role, 'role: the name of a role');
  if (!isPlainObject(settings)) throw unusable(settings, "settings: { 'app.tenant': scope.tenant }");
  const set = Object.entries(settings);
  for (const [name, value] of set) {
    if (!SETTING.test(name)) throw unusable(name, 'settings of your own, with a dot in the name, such as app.tenant');
    if (!isText(value)) throw unusable(value, `a text for the setting ${name}, and no empty one`);
  }
  return role === undefined ? set : [['role', role], ...set];
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.isWellFormed() && !value.includes('\0');

function howToExecute<Tx>({ call, definition }: Execution<Tx>, waitMs: number): ExecuteOptions {
  const { onPoint } = call.engine.config;
  // The last moment at which it can still be taken back: the caller has stopped listening.
  const assertInTime = () => {
    if (timeLeft(call.deadline) > 0) return;
    throw new CodedError('unavailable', "The caller's time is up; everything is rolled back.");
  };
  return {
    ...asBegun(call.engine, definition.options, { id: call.id, deadline: call.deadline, waitMs }),
    beforeCommit: () => proceed(onPoint?.('before-commit', pointOf(call)), assertInTime),
  };
}

/** One run of the handler, on a copy of the input. Throws what it throws, unless that is an answer. */
async function runHandler<Tx>(
  { call, definition, input: validated }: Execution<Tx>,
  tx: Tx,
  { capture, afterCommit }: { capture: Capture; afterCommit: AfterCommit[] },
) {
  const { onPoint } = call.engine.config;
  if (onPoint) await onPoint('after-claim', pointOf(call));
  // What one try changes of it, the next one must not see.
  const [input, context] = copyOf([validated, call.request.context ?? []] as const);
  const { key, ...scope } = call.id;
  const ended = await runToEnd(definition.handler, {
    input: input as never,
    tx,
    key,
    scope,
    context,
    capture,
    fail,
    defer,
    afterCommit: (run) => void afterCommit.push(run),
  });
  return { ended, input, afterCommit };
}

/** What a try of the handler has made, once it has ended in an answer: what is thrown behind that came of storing it. */
type Made = Awaited<ReturnType<typeof runHandler>>;

/** What is stored of what the handler has made: of a refusal, once `onRefused` has undone what it must not keep. */
async function completionOf<Tx>(
  { call, definition: { options, redirectTo } }: Execution<Tx>,
  tx: Tx,
  { ended, input }: Made,
): Promise<Completion> {
  const { onPoint } = call.engine.config;
  const made = await answerOf(ended, call.request.response, { options });
  // It has no foreign calls, and what the handler has written is the refusal's own.
  const answer = made.kind === 'refusal' ? { ...made, executed: executedBy('refusal') } : made;
  if (answer.kind === 'refusal') {
    const { key, ...scope } = call.id;
    await options.onRefused?.(tx, { reason: answer.reason, data: answer.data, input, key, scope, steps: {} });
  }
  if (onPoint) await onPoint('after-handler', pointOf(call));
  const state = answer.kind === 'refusal' ? 'failed' : 'succeeded';
  assertTransition('in_progress', state);
  return { state, result: encodeAnswer(withAddress(answer, redirectTo, call), call.request.method) };
}
