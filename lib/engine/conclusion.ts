import type { Code } from '../core/codes.ts';
import { CodedError, isSetUpWrongly } from '../core/errors.ts';
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
  if (afterCommit.length === 0) return presentOwn(call, row);
  return runAll(afterCommit, call).then(() => presentOwn(call, row));
}

function presentOwn<Tx, T>(call: Call<Tx>, row: KeyRow): Run<T> {
  // Decoded from the row, not taken from the handler: the first answer is the replayed one, to the letter (R1).
  const run = presentAnswer<T>(decodeAnswer(row.result), { replayed: false, ...keysOf(call) });
  return { ...run, expiresAt: row.expiresAt, row, isOwn: true };
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
    case 'not_admitted':
      return refuseCall(call, 'rate_limited', { executed: executedBy(call.proof), retryAfterMs: ended.retryAfterMs });
    case 'suspended':
      // A completer goes on from what was finished, so nothing is known of the effect yet.
      return refusalFromError(ended.error, whereOf(call, 'none', 'phases'));
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
  // Of somebody else's key for one thing nothing is told anyway.
  const isForeign = isOfOtherKey(row, call.id) && !isTheirs(row, call.who);
  const may = isForeign || mayReplay(call.engine, call.definition, { ...call.id, key: row.key }, call.deadline);
  return proceed(may, (isAllowed) => (isAllowed ? tellRow<Tx, T>(row, call) : refuseCall(call, 'unauthorized')));
}

function tellRow<Tx, T>(row: KeyRow, call: Call<Tx>): Awaitable<Run<T>> {
  if (isOfOtherKey(row, call.id)) return answerByHolder(row, call);
  const verdict = comparePayload(row, call, call.engine.config.secrets);
  if (verdict === 'different') return recordMismatch(row, call);
  if (verdict === 'unreadable') return { outcome: refuseUnreadable(keysOf(call)), row };
  return Object.assign(replayFor<Tx, T>(row, call), { row });
}

function replayFor<Tx, T>(row: KeyRow, call: Call<Tx>): Run<T> {
  const asResponse = call.request.response !== undefined;
  const run = replayRow<T>(row, call.definition, { nextKey: call.nextKey, asResponse });
  if (run.thrown) call.engine.config.onError(run.thrown, { ...pointOf(call), during: 'replay' });
  return run;
}

/**
 * The outcome by the row of another key, which holds this call's thing. It is another intent, so payloads are not compared.
 * A refusal names the caller's own key, which may be sent again. Of somebody else's row nothing is told but that there is one.
 */
function answerByHolder<Tx, T>(row: KeyRow, call: Call<Tx>): Run<T> {
  const isOwn = isTheirs(row, call.who);
  if (row.state === 'succeeded') {
    if (!isOwn) return refuseCall(call, 'already_done', { executed: executedBy('answer') });
    const run = replayFor<Tx, T>(row, call);
    return { ...run, outcome: run.outcome.ok ? run.outcome : { ...run.outcome, ...keysOf(call) }, row };
  }
  if (row.state === 'unknown' && isOwn) {
    return { ...refuseCall<Tx, T>(call, 'outcome_unknown', { retryAfterMs: RETRY_AFTER_MS }), row };
  }
  // It runs; or it was refused since it was found, and the thing is free.
  return refuseInFlight(call);
}

/** The rows whose mismatch this process has recorded: all that joined one flight are given the same one. */
const recorded = new WeakSet<KeyRow>();

async function recordMismatch<Tx, T>(row: KeyRow, call: Call<Tx>): Promise<Run<T>> {
  const { config } = call.engine;
  const mismatch = { ...refuseCall<Tx, T>(call, 'payload_mismatch', { executed: executedByRow(row) }), row };
  // Once, for that needs a connection, which those who wait for each other in this process do not take.
  if (recorded.has(row)) return mismatch;
  recorded.add(row);
  const fingerprint = Buffer.from(call.fingerprint.hash).toString('hex', 0, 6);
  await storeFor(call)
    .recordEvent(call.id, { type: 'payload_mismatch', actor: 'client', detail: { fingerprint } })
    // It is for the admin's eyes; the answer is known without it.
    .catch((error) => {
      recorded.delete(row);
      config.onError(error, { ...pointOf(call), during: 'database' });
    });
  return mismatch;
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
  engine: { config: Config; store: Pick<Store<never>, 'isUnavailable'> };
  operation: string;
  request: Pick<ExecuteRequest, 'key'>;
  /** The proof of the key's effect, whatever was thrown. */
  proof: Proof;
  /** The stage at which it was thrown. */
  during: ErrorContext['during'];
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
  const code = codeOf(error, where);
  const instance = report(error, isSetUp ? { ...where, during: 'setup' } : where);
  const { retryAfterMs = code === 'unavailable' ? RETRY_AFTER_MS : undefined } =
    error instanceof CodedError ? error : {};
  const words = isSetUp ? { message: SET_UP_WRONGLY } : {};
  return { outcome: refuse(code, { executed, retryAfterMs, ...words, ...keys }), thrown: error, instance };
}

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

function report(error: unknown, { engine, operation, request, during }: FailureContext): string {
  return engine.config.onError(error, { operation, key: loggedKey(request.key), during });
}
