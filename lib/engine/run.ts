import { type Refusal, refuse } from '../core/outcome.ts';
import { validate } from '../core/standard-schema.ts';
import type { KeyRow } from '../store/store.ts';
import { type Call, type Definition, type Engine, openCall } from './call.ts';
import { newInstance } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import { type Ended, type Flight, follow } from './flights.ts';
import { comparePayload, executedOf, present, RETRY_AFTER_MS, type Run, replay, unreadableHere } from './interpret.ts';
import { type Attempted, executeInTransaction } from './transaction.ts';
import { refusalOf } from './trouble.ts';
import { enteredValues } from './values.ts';

/**
 * Runs an operation once per key: the checks in the order of O1, then lead or follow, then the outcome. Never throws:
 * what goes wrong is in `outcome`, and what was thrown in `thrown`.
 */
export async function run<Tx, T>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Promise<Run<T>> {
  let call: Call<Tx> | Refusal | undefined;
  try {
    call = await openCall(engine, definition, request);
    return 'ok' in call ? { outcome: call } : await decide<Tx, T>(call);
  } catch (error) {
    return refusalOf(error, engine.config, definition.options.name, request);
  }
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
    const values = enteredValues(request.payload, definition.options.sensitive);
    return { outcome: refuse('validation', { executed: call.unclaimed, fieldErrors, values, ...keysOf(call) }) };
  }
  return await leadOrFollow<Tx, T>(call, validated.value);
}

/** One leads, the others wait without a connection; where the leader rolled back, one of them leads (C2). */
async function leadOrFollow<Tx, T>(call: Call<Tx>, input: unknown): Promise<Run<T>> {
  const { flights } = call.engine;
  const started = performance.now();
  for (;;) {
    const flight = flights.find(call.id);
    if (!flight) return await lead<Tx, T>(call, input);
    if (!isSamePayload(flight, call)) return mismatch(call, 'unknown');
    const left = Math.min(call.waitMs - (performance.now() - started), call.deadline - performance.now());
    const ended = await follow(flight, left);
    if (!ended) return inFlight(call);
    if (ended.kind === 'committed') return decideByRow(ended.row, call);
    // The leader waited for another process as long as this call may: no use in doing it again.
    const inVain = ended.kind === 'locked' && flight.waitMs >= call.waitMs;
    const mayLead = (ended.kind === 'rolled_back' && ended.why === 'error') || ended.kind === 'in_doubt';
    if (inVain || (ended.kind !== 'locked' && !mayLead)) return await conclude<Tx, T>(call, ended);
  }
}

async function lead<Tx, T>(call: Call<Tx>, input: unknown): Promise<Run<T>> {
  let attempted: Attempted | undefined;
  const flight = { fingerprint: call.fingerprint.hash, waitMs: call.waitMs };
  const ended = await call.engine.flights.lead(call.id, flight, async (): Promise<Ended> => {
    const refused = await lookFirst(call, input);
    if (refused) return refused;
    attempted = await executeInTransaction({ ...planOf(call), input });
    return attempted.executed;
  });
  if (ended.kind !== 'committed' || !attempted?.answer) return await conclude<Tx, T>(call, ended);
  for (const after of attempted.afterCommit) await runAfterCommit(after, call);
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
          executed: call.unclaimed,
          retryAfterMs: ended.retryAfterMs,
          ...keysOf(call),
        }),
      };
    case 'in_doubt':
      return { outcome: refuse('unavailable', { executed: 'unknown', retryAfterMs: RETRY_AFTER_MS, ...keysOf(call) }) };
    case 'rolled_back':
      if (ended.why === 'error') {
        return refusalOf(ended.error, call.engine.config, call.id.operation, call.request, keysOf(call));
      }
      return {
        outcome: refuse('unavailable', { executed: call.unclaimed, retryAfterMs: RETRY_AFTER_MS, ...keysOf(call) }),
      };
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
  if (verdict === 'unreadable') return { outcome: unreadableHere(row) };
  if (verdict === 'same') return replay<T>(row, { schemaVersion, upcasts, nextKey: call.nextKey });
  await store.recordEvent(call.id, { type: 'payload_mismatch', actor: 'client', detail: null });
  return mismatch(call, executedOf(row));
}

function planOf<Tx>({ engine, definition, id, mintedAt, fingerprint, waitMs, deadline }: Call<Tx>) {
  const { windowMs, retentionMs } = engine.config;
  const { schemaVersion = 1 } = definition.options;
  const claim = { ...id, mintedAt, windowMs, retentionMs, fingerprint, schemaVersion, waitMs };
  return { ...engine, ...definition, claim, deadline };
}

async function runAfterCommit<Tx>(after: () => void | Promise<void>, { engine, id }: Call<Tx>): Promise<void> {
  try {
    await after();
  } catch (error) {
    // The effect stands; an error here must not look like one that rolled it back.
    engine.config.onError(error, {
      operation: id.operation,
      key: id.key,
      during: 'afterCommit',
      instance: newInstance(),
    });
  }
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
