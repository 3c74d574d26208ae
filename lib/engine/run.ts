import { type Refusal, refuse } from '../core/outcome.ts';
import { validate } from '../core/standard-schema.ts';
import type { KeyRow } from '../store/store.ts';
import { type Call, type Definition, type Engine, openCall, unclaimed } from './call.ts';
import { newInstance } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import { type Ended, type Flight, follow } from './flights.ts';
import { comparePayload, executedOf, present, RETRY_AFTER_MS, type Run, replay, unreadableHere } from './interpret.ts';
import { type Attempted, executeInTransaction } from './transaction.ts';
import { refusalOf, throwIfSetUpWrongly, unavailable } from './trouble.ts';
import { enteredValues } from './values.ts';

/**
 * Runs an operation once per key: the checks in the order of O1, then lead or follow, then the outcome. What goes
 * wrong is in `outcome`, and what was thrown in `thrown`.
 *
 * @throws ConfigurationError only: for a kit that is set up wrongly
 */
export async function run<Tx, T>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Promise<Run<T>> {
  let call: Call<Tx> | Refusal | undefined;
  try {
    call = await openCall(engine, definition, request);
    const run: Run<T> = 'ok' in call ? { outcome: call } : await decide<Tx, T>(call);
    return withValues(run, definition, request);
  } catch (error) {
    throwIfSetUpWrongly(error);
    const keys = call && !('ok' in call) ? keysOf(call) : undefined;
    const where = { config: engine.config, operation: definition.options.name, request, keys };
    return withValues(refusalOf<T>(error, where), definition, request);
  }
}

/** What was entered goes back with every refusal of a form, so that no page loses it (B7). */
function withValues<Tx, T>(run: Run<T>, { options }: Definition<Tx>, { payload }: ExecuteRequest): Run<T> {
  if (run.outcome.ok || !(payload instanceof FormData)) return run;
  return { ...run, outcome: { ...run.outcome, values: enteredValues(payload, options.sensitive) } };
}

async function decide<Tx, T>(call: Call<Tx>): Promise<Run<T>> {
  const { engine, definition, request } = call;
  const flight = engine.flights.find(call.id);
  if (flight && !isSamePayload(flight, call)) return mismatch(call, 'unknown');

  const validated = await validate(definition.options.schema, request.input ?? request.payload);
  if (!validated.ok) {
    // A row decides, whatever the schema says today: a deploy must not turn a retry into a validation error (O2).
    const row = await engine.store.find(call.id);
    if (row) return decideByRow(row, call);
    const { fieldErrors } = validated;
    return { outcome: refuse('validation', { executed: unclaimed(request), fieldErrors, ...keysOf(call) }) };
  }
  return await leadOrFollow<Tx, T>(call, validated.value);
}

/** One leads, the others wait without a connection; where the leader rolled back, one of them leads (C2). */
async function leadOrFollow<Tx, T>(call: Call<Tx>, input: unknown): Promise<Run<T>> {
  const { flights } = call.engine;
  const patience = performance.now() + call.waitMs;
  for (;;) {
    const left = Math.max(0, Math.min(patience, call.deadline) - performance.now());
    const flight = flights.find(call.id);
    if (!flight) return await lead<Tx, T>({ ...call, waitMs: left }, input);
    if (!isSamePayload(flight, call)) return mismatch(call, 'unknown');
    const ended = await follow(flight, left);
    if (!ended) return inFlight(call);
    if (!mayTakeOver(call, flight, ended)) return await conclude<Tx, T>(call, ended);
  }
}

/** Whether a follower may do better than its leader did: not where the leader's fate would be its own. */
function mayTakeOver<Tx>(call: Call<Tx>, flight: Flight, ended: Ended): boolean {
  switch (ended.kind) {
    case 'in_doubt':
      return true;
    case 'locked':
      return flight.waitMs < call.waitMs;
    case 'rolled_back':
      return ended.why === 'error' || flight.deadline < call.deadline;
    default:
      return false;
  }
}

async function lead<Tx, T>(call: Call<Tx>, input: unknown): Promise<Run<T>> {
  let attempted: Attempted | undefined;
  const { waitMs, deadline } = call;
  const flight = { fingerprint: call.fingerprint.hash, waitMs, deadline };
  const ended = await call.engine.flights.lead(call.id, flight, async (): Promise<Ended> => {
    const refused = await lookFirst(call, input);
    if (refused) return refused;
    attempted = await executeInTransaction({ ...planOf(call), input });
    return attempted.executed;
  });
  if (ended.kind !== 'committed' || !attempted?.answer) return await conclude<Tx, T>(call, ended);
  const { config } = call.engine;
  for (const after of [() => config.onPoint('after-commit', pointOf(call)), ...attempted.afterCommit]) {
    await runAfterCommit(after, call);
  }
  return { ...present<T>(attempted.answer, { replayed: false, ...keysOf(call) }), expiresAt: ended.row.expiresAt };
}

/**
 * Looks for a row before a transaction begins, but only where that may save one: the client says that it retries, or
 * a new key must be admitted first (O2, O3). It decides nothing when it finds none: the claim does.
 */
async function lookFirst<Tx>(call: Call<Tx>, input: unknown): Promise<Ended | undefined> {
  const { admit } = call.definition.options;
  if (!admit && (call.request.attempt ?? 1) <= 1) return undefined;
  const row = await call.engine.store.find(call.id);
  if (row) return { kind: 'existing', row };
  const admitted = (await admit?.({ scope: call.id, key: call.id.key, input: input as never })) ?? true;
  return admitted === true ? undefined : { kind: 'not_admitted', retryAfterMs: admitted };
}

/** The outcome of an execution that gave this call no answer of its own. */
async function conclude<Tx, T>(call: Call<Tx>, ended: Ended): Promise<Run<T>> {
  switch (ended.kind) {
    case 'committed':
    case 'existing':
      return decideByRow(ended.row, call);
    case 'locked':
      return inFlight(call);
    case 'early':
      return { outcome: refuse('key_invalid', { executed: 'unknown', ...keysOf(call) }) };
    case 'expired':
      return await concludeExpired(call);
    case 'not_admitted':
      return {
        outcome: refuse('rate_limited', {
          executed: unclaimed(call.request),
          retryAfterMs: ended.retryAfterMs,
          ...keysOf(call),
        }),
      };
    case 'in_doubt':
      return unavailable(ended.error, whereOf(call), true);
    case 'rolled_back':
      return ended.why === 'error' ? refusalOf(ended.error, whereOf(call)) : unavailable(ended.error, whereOf(call));
  }
}

/** Too old to be claimed; but a claim that was made in time and is still running decides (K3). */
async function concludeExpired<Tx, T>(call: Call<Tx>): Promise<Run<T>> {
  const probed = await call.engine.store.probe(call.id);
  if (probed.kind === 'existing') return decideByRow(probed.row, call);
  if (probed.kind === 'locked') return inFlight(call);
  return { outcome: refuse('key_expired', { executed: 'unknown', ...keysOf(call) }) };
}

async function decideByRow<Tx, T>(row: KeyRow, call: Call<Tx>): Promise<Run<T>> {
  const { config, store } = call.engine;
  const { schemaVersion = 1, upcasts = {} } = call.definition.options;
  const verdict = comparePayload(row, call.canonical, config.secrets);
  if (verdict === 'unreadable') return { outcome: unreadableHere(keysOf(call)) };
  if (verdict === 'same') return replay<T>(row, { schemaVersion, upcasts, nextKey: call.nextKey });
  await store
    .recordEvent(call.id, { type: 'payload_mismatch', actor: 'client', detail: null })
    // It is for the admin's eyes; the answer is known without it.
    .catch((error) => config.onError(error, { ...pointOf(call), during: 'database', instance: newInstance() }));
  return mismatch(call, executedOf(row));
}

function planOf<Tx>({ engine, definition, id, mintedAt, fingerprint, waitMs, deadline }: Call<Tx>) {
  const { windowMs, retentionMs } = engine.config;
  const { schemaVersion = 1 } = definition.options;
  const claim = { ...id, mintedAt, windowMs, retentionMs, fingerprint, schemaVersion, waitMs };
  return { ...engine, ...definition, claim, deadline };
}

async function runAfterCommit<Tx>(after: () => void | Promise<void>, call: Call<Tx>): Promise<void> {
  try {
    await after();
  } catch (error) {
    // The effect stands; an error here must not look like one that rolled it back.
    call.engine.config.onError(error, { ...pointOf(call), during: 'afterCommit', instance: newInstance() });
  }
}

function whereOf<Tx>(call: Call<Tx>) {
  return { config: call.engine.config, operation: call.id.operation, request: call.request, keys: keysOf(call) };
}

function pointOf<Tx>({ id }: Call<Tx>): { operation: string; key: string } {
  return { operation: id.operation, key: id.key };
}

function isSamePayload(flight: Flight, { fingerprint }: { fingerprint: { hash: Uint8Array } }): boolean {
  return Buffer.compare(flight.fingerprint, fingerprint.hash) === 0;
}

function mismatch<Tx, T>(call: Call<Tx>, executed: boolean | 'unknown'): Run<T> {
  return { outcome: refuse('payload_mismatch', { executed, ...keysOf(call) }) };
}

function inFlight<Tx, T>(call: Call<Tx>): Run<T> {
  return { outcome: refuse('in_flight', { executed: 'unknown', retryAfterMs: RETRY_AFTER_MS, ...keysOf(call) }) };
}

function keysOf<Tx>({ id, nextKey }: Call<Tx>): { key: string; nextKey: string } {
  return { key: id.key, nextKey };
}
