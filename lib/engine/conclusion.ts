import { ADVICE, type Code } from '../core/codes.ts';
import { isProduction } from '../core/environment.ts';
import { CodedError, isSetUpWrongly } from '../core/errors.ts';
import { isSettled } from '../core/key-state.ts';
import { executedBy, type Proof, type Refusal, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import { type Awaitable, proceed } from '../core/wait.ts';
import { type KeyRow, type Store, StoreUnavailableError } from '../store/store.ts';
import { decodeAnswer } from './answer.ts';
import { type Call, pointOf, storeFor } from './call.ts';
import {
  comparePayload,
  executedByRow,
  type FlightResult,
  mayReplay,
  presentAnswer,
  RETRY_AFTER_MS,
  type Run,
  refuseUnreadable,
  replayRow,
} from './call-result.ts';
import type { Config } from './config.ts';
import { beforeDeadline } from './deadline.ts';
import type { ExecuteRequest } from './definition.ts';
import { confirmReplicated } from './durability.ts';
import { type AfterCommit, isFinal, isRefusalStatus } from './handler.ts';
import { loggedKey, type ResolvedKey } from './identity.ts';
import { isPassedOn } from './kept.ts';
import type { ErrorContext } from './log.ts';
import { isOfOtherKey, isTheirs } from './thing.ts';

/** The outcome of an execution of this call's own. */
export function answerOwn<Tx, T>(call: Call<Tx>, ended: FlightResult): Awaitable<Run<T>> {
  if (ended.kind !== 'committed') return answerFrom<Tx, T>(call, ended);
  const { row, afterCommit = [] } = ended;
  return proceed(afterCommit.length > 0 ? runAll(afterCommit, call) : undefined, () => {
    // Decoded from the row, not taken from the handler: the first answer is the replayed one, to the letter (R1).
    const run = presentAnswer<T>(decodeAnswer(row.result), { replayed: false, ...keysOf(call) });
    return { ...run, expiresAt: row.expiresAt, row, isOwn: true };
  });
}

/** The outcome of an execution that gave this call no answer of its own. */
export function answerFrom<Tx, T>(call: Call<Tx>, ended: FlightResult): Awaitable<Run<T>> {
  switch (ended.kind) {
    case 'committed':
    case 'existing':
      return answerByRow(ended.row, call);
    case 'thing_done':
      return refuseCall(call, 'already_done', { executed: executedBy('answer') });
    case 'locked':
      return refuseInFlight(call);
    case 'early':
      return refuseCall(call, 'key_invalid');
    case 'expired':
      // Too old to be claimed; but a claim that was made in time and is still running decides (K3).
      return refuseWithoutRow(call, refuse('key_expired', keysOf(call)));
    case 'not_admitted': {
      const executed = executedBy(call.proof);
      if (ended.says === 'unauthorized') return refuseCall(call, 'unauthorized', { executed });
      return refuseCall(call, 'rate_limited', { executed, retryAfterMs: ended.says });
    }
    case 'suspended':
      // A completer goes on from what was finished, so nothing is known of the effect yet.
      return refusalFromError(ended.error, { ...whereOf(call, 'none', 'phases'), isBeforeCalls: ended.isBeforeCalls });
    case 'in_doubt':
      return refuseUnavailable(ended.error, whereOf(call, 'none', 'database'));
    case 'rolled_back': {
      const where =
        ended.at === 'claim'
          ? whereOf(call, call.proof, 'claim')
          : whereOf(call, 'rolled_back', ended.at === 'run' ? 'handler' : 'answer');
      return ended.why === 'error' ? refusalFromError(ended.error, where) : refuseUnavailable(ended.error, where);
    }
  }
}

/** Looks for a row, or a claim that is still running, which decide. Where there is none, the call ends in `outcome`. */
export async function refuseWithoutRow<Tx, T>(call: Call<Tx>, outcome: Refusal): Promise<Run<T>> {
  const probed = await storeFor(call).probe(call.id);
  if (probed.kind === 'existing') return await answerFrom<Tx, T>(call, await confirmReplicated(call, probed));
  return probed.kind === 'locked' ? refuseInFlight(call) : { outcome };
}

/** A committed row decides: the same payload is replayed, another one is refused. To who may no longer see it, nothing is told. */
export function answerByRow<Tx, T>(row: KeyRow, call: Call<Tx>): Awaitable<Run<T>> {
  call.proof = 'none'; // the row is there, whatever the caller says of a first attempt
  if (!isOfOtherKey(row, call.id)) return tellIfAllowed(row, call);
  // What is told now may be lost on its way: then the status of the caller's own key names the one to ask about.
  const noted = isTheirs(row, call.who)
    ? recordOnce(followed, row, call, (store) => store.recordFollower(row, call.id))
    : undefined;
  return proceed(noted, () =>
    proceed(
      holdsThing(row, call),
      (isHeld) => refuseByHolder<Tx, T>(row, call, isHeld) ?? tellIfAllowed<Tx, T>(row, call),
    ),
  );
}

/**
 * Tells whether a settled row of another key holds this call's thing. Of a refusal the database says so, by what stands there now:
 * a person's "failed" frees the thing, and what is proven behind it takes that again.
 */
function holdsThing<Tx>(row: KeyRow, call: Call<Tx>): Awaitable<boolean> {
  if (!isSettled(row.state) || row.state === 'succeeded') return row.state === 'succeeded';
  return storeFor(call)
    .thingOf(row)
    .then((thing) => thing !== null);
}

function tellIfAllowed<Tx, T>(row: KeyRow, call: Call<Tx>): Awaitable<Run<T>> {
  const may = mayReplay(call.engine, call.definition, { ...call.id, key: row.key }, call.deadline);
  return proceed(may, (isAllowed) => (isAllowed ? tellRow<Tx, T>(row, call) : refuseCall(call, 'unauthorized')));
}

/**
 * The outcome by the row of another key, which holds this call's thing, where it is no answer to whoever asks. It names the
 * caller's own key, and of somebody else's row no more than that there is one.
 */
function refuseByHolder<Tx, T>(row: KeyRow, call: Call<Tx>, isHeld: boolean): Run<T> | undefined {
  const isOwn = isTheirs(row, call.who);
  if (isHeld) {
    return isOwn || call.definition.options.shareAnswer ? undefined : refuseAlreadyDone(row, call);
  }
  if (row.state === 'unknown' && isOwn) {
    return { ...refuseCall<Tx, T>(call, 'outcome_unknown', { retryAfterMs: RETRY_AFTER_MS }), row };
  }
  // It runs; or its thing has become free since it was found.
  return refuseInFlight(call);
}

function refuseAlreadyDone<Tx, T>(row: KeyRow, call: Call<Tx>): Run<T> {
  return refuseCall(call, 'already_done', { executed: executedByRow(row) });
}

/** Tells it under the key that the answer is of; somebody else's, which is shared, under the caller's own. */
function tellRow<Tx, T>(row: KeyRow, call: Call<Tx>): Awaitable<Run<T>> {
  const isOwn = isTheirs(row, call.who);
  const verdict = comparePayload(row, call, call.engine.config.secrets);
  if (verdict === 'different') return isOwn ? recordMismatch(row, call) : refuseAlreadyDone(row, call);
  if (verdict === 'unreadable') return { outcome: refuseUnreadable(keysOf(call)), row };
  const asResponse = call.request.response !== undefined;
  const run = replayRow<T>(row, call.definition, { nextKey: call.nextKey, asResponse });
  if (run.thrown) call.engine.config.onError(run.thrown, { ...pointOf(call), during: 'replay' });
  if (!isOwn) run.outcome.key = call.id.key;
  return Object.assign(run, { row });
}

/** The rows of which this process has recorded it: all that joined one flight are given the same one. */
const [followed, mismatched] = [new WeakSet<KeyRow>(), new WeakSet<KeyRow>()];

async function recordMismatch<Tx, T>(row: KeyRow, call: Call<Tx>): Promise<Run<T>> {
  const fingerprint = Buffer.from(call.fingerprint.hash).toString('hex', 0, 6);
  const event = { type: 'payload_mismatch', actor: 'client', detail: { fingerprint } } as const;
  await recordOnce(mismatched, row, call, (store) => store.recordEvent(row, event));
  const { key } = row;
  return { outcome: refuse('payload_mismatch', { executed: executedByRow(row), key, nextKey: call.nextKey }), row };
}

/** Writes down what has come about a row. The answer is known without it. */
async function recordOnce<Tx>(
  recorded: WeakSet<KeyRow>,
  row: KeyRow,
  call: Call<Tx>,
  write: (store: Store<Tx>) => Promise<void>,
): Promise<void> {
  // Once, for that needs a connection, which those who wait for each other in this process do not take.
  if (recorded.has(row)) return;
  recorded.add(row);
  await write(storeFor(call)).catch((error) => {
    recorded.delete(row);
    call.engine.config.onError(error, { ...pointOf(call), during: 'database' });
  });
}

async function runAll<Tx>(afterCommit: readonly AfterCommit[], call: Call<Tx>): Promise<void> {
  for (const after of afterCommit) {
    try {
      await beforeDeadline(after(), call.deadline, 'an afterCommit');
    } catch (error) {
      // The effect stands; an error here must not look like one that rolled it back.
      call.engine.config.onError(error, { ...pointOf(call), during: 'afterCommit' });
    }
  }
}

function whereOf<Tx>(call: Call<Tx>, proof: Proof, during: ErrorContext['during']) {
  const { engine, id, request } = call;
  return { engine, operation: id.operation, request, keys: keysOf(call), proof, during };
}

export function refuseInFlight<Tx, T>(call: Call<Tx>): Run<T> {
  return refuseCall(call, 'in_flight', { retryAfterMs: RETRY_AFTER_MS });
}

export function refuseCall<Tx, T>(call: Call<Tx>, code: Code, details: Partial<Refusal> = {}): Run<T> {
  return { outcome: refuse(code, { ...details, ...keysOf(call) }) };
}

export function keysOf({ id, nextKey }: ResolvedKey): { key: string; nextKey: string } {
  return { key: id.key, nextKey };
}

interface FailureContext {
  engine: { config: Config; store: Pick<Store<never>, 'isUnavailable' | 'violatedConstraint'> };
  operation: string;
  request: Pick<ExecuteRequest, 'key'>;
  /** The proof of the key's effect, whatever was thrown. */
  proof: Proof;
  /** The stage at which it was thrown. */
  during: ErrorContext['during'];
  /** In phases: no foreign call of the key can have been done. */
  isBeforeCalls?: boolean | undefined;
  keys?: { key: string; nextKey: string } | undefined;
}

/** A set-up error is nothing that passes by itself, so nobody is told to send it again at once. */
const SET_UP_WRONGLY = 'Something is set up wrongly on our side. Once that is mended, it can be sent again.';

/**
 * The outcome of what was thrown before a claim, rolled back with one, or thrown by phases behind it.
 *
 * @throws ConfigurationError where one stands in the way of the handler: whoever has set the kit up must see it
 */
export function refusalFromError<T>(error: unknown, where: FailureContext): Run<T> {
  const { proof, during, keys } = where;
  const isSetUp = isSetUpWrongly(error);
  if (isSetUp && (during === 'checks' || during === 'claim')) throw error;
  const away = findOutage(error, where);
  if (away) return refuseUnavailable(away, where);
  const executed = executedBy(proof);
  // A redirect or a notFound is no trouble: the caller passes it on to the framework.
  if (isControlFlow(error) && during !== 'phases') {
    return { outcome: refuse('internal', { executed, ...keys }), thrown: error };
  }
  if (isPassedOn(error)) {
    // In phases a worker goes on with the key, so nothing is told that would be an end.
    const isOpen = during === 'phases';
    const code = isOpen ? 'deferred' : error.code;
    const { status: own, response, ...told } = error.answer;
    const later = code === 'deferred' ? { retryAfterMs: told.retryAfterMs ?? RETRY_AFTER_MS } : {};
    const status = isRefusalStatus(own) && !(isOpen && isFinal(own)) ? own : undefined;
    return { outcome: refuse(code, { executed, ...told, ...later, ...keys }), status, thrown: error };
  }
  const constraint = violatedIn(error, where);
  const code = constraint === undefined ? codeOf(error, where) : 'already_exists';
  const instance = report(error, isSetUp ? { ...where, during: 'setup' } : where, constraint);
  const { retryAfterMs = code === 'unavailable' ? RETRY_AFTER_MS : undefined } =
    error instanceof CodedError ? error : {};
  const message = isSetUp ? SET_UP_WRONGLY : constraint && !isProduction() ? inDevelopment(constraint) : undefined;
  const words = message === undefined ? {} : { message };
  return { outcome: refuse(code, { executed, retryAfterMs, ...words, ...keys }), thrown: error, instance };
}

/**
 * The unique constraint of the app's own that the operation has run into. Behind a foreign call that may have been done that is
 * an error like any other: no other input would help.
 */
function violatedIn(error: unknown, { engine, during, isBeforeCalls }: FailureContext): string | undefined {
  const isTheirs = during === 'handler' || during === 'answer' || (during === 'phases' && isBeforeCalls);
  return isTheirs ? engine.store.violatedConstraint(error) : undefined;
}

const inDevelopment = (constraint: string) =>
  `${ADVICE.already_exists.message} In development alone: it was ${constraint}. For words of your own see docs/forms.md#a-value-that-is-taken.`;

/** In phases an error settles nothing: what was finished stands, and the key goes on. So no code is told that says otherwise (A2). */
function codeOf(error: unknown, { during }: FailureContext): Code {
  const code = error instanceof CodedError ? error.code : 'internal';
  return during !== 'phases' || code === 'unavailable' || code === 'phase_mismatch' ? code : 'internal';
}

/** Returns the error that says that the database cannot be asked: one of the store's own, or of a query of the user's (C6). */
function findOutage(error: unknown, { engine }: FailureContext): unknown {
  if (error instanceof StoreUnavailableError) return error.cause ?? error;
  return engine.store.isUnavailable(error) ? error : undefined;
}

/** The outcome of a database that could not be asked, or that was told to commit and did not answer. */
function refuseUnavailable<T>(error: unknown, where: FailureContext): Run<T> {
  const { proof, keys } = where;
  const instance = report(error, { ...where, during: 'database' });
  const executed = executedBy(proof);
  return { outcome: refuse('unavailable', { executed, retryAfterMs: RETRY_AFTER_MS, ...keys }), instance };
}

function report(error: unknown, { engine, operation, request, during }: FailureContext, constraint?: string): string {
  return engine.config.onError(error, { operation, key: loggedKey(request.key), during, constraint });
}
