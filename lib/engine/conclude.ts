import { refuse } from '../core/outcome.ts';
import type { KeyRow } from '../store/store.ts';
import { decodeAnswer } from './answer.ts';
import { type Call, pointOf, unclaimed } from './call.ts';
import { newInstance } from './config.ts';
import { comparePayload, executedOf, present, RETRY_AFTER_MS, type Run, replay, unreadableHere } from './interpret.ts';
import type { Ended } from './leaders.ts';
import type { Attempted } from './transaction.ts';
import { refusalOf, suspended, unavailable } from './trouble.ts';

/** The outcome of an execution of this call's own. */
export async function concludeOwn<Tx, T>(call: Call<Tx>, { executed, afterCommit }: Attempted): Promise<Run<T>> {
  if (executed.kind !== 'committed') return await conclude<Tx, T>(call, executed);
  for (const after of afterCommit) await runAfterCommit(after, call);
  // What was stored, not what the handler holds: the first answer is the replayed one, to the letter (R1).
  const answer = decodeAnswer(executed.row.result);
  const { row } = executed;
  return {
    ...present<T>(answer, { replayed: false, ...keysOf(call) }),
    expiresAt: row.expiresAt,
    row,
    isOwn: true,
  };
}

/** The outcome of an execution that gave this call no answer of its own. */
export function conclude<Tx, T>(call: Call<Tx>, ended: Ended): Run<T> | Promise<Run<T>> {
  switch (ended.kind) {
    case 'committed':
    case 'existing':
      return decideByRow(ended.row, call);
    case 'locked':
      return inFlight(call);
    case 'early':
      return { outcome: refuse('key_invalid', { executed: 'unknown', ...keysOf(call) }) };
    case 'expired':
      return concludeExpired(call);
    case 'not_admitted':
      return {
        outcome: refuse('rate_limited', {
          executed: unclaimed(call.request),
          retryAfterMs: ended.retryAfterMs,
          ...keysOf(call),
        }),
      };
    case 'suspended':
      return suspended(ended.error, whereOf(call));
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

/** A committed row decides: the same payload is replayed, another one is refused. */
export function decideByRow<Tx, T>(row: KeyRow, call: Call<Tx>): Run<T> | Promise<Run<T>> {
  const decided = interpreted<Tx, T>(row, call);
  const withRow = (run: Run<T>) => Object.assign(run, { row });
  return decided instanceof Promise ? decided.then(withRow) : withRow(decided);
}

function interpreted<Tx, T>(row: KeyRow, call: Call<Tx>): Run<T> | Promise<Run<T>> {
  const { config } = call.engine;
  const { schemaVersion = 1, upcasts = {} } = call.definition.options;
  const verdict = comparePayload(row, call, config.secrets);
  if (verdict === 'different') return recordMismatch(row, call);
  if (verdict === 'unreadable') return { outcome: unreadableHere(keysOf(call)) };
  const asResponse = call.request.response !== undefined;
  const run = replay<T>(row, { schemaVersion, upcasts, nextKey: call.nextKey, asResponse });
  if (run.thrown) config.onError(run.thrown, { ...pointOf(call), during: 'replay', instance: newInstance() });
  return run;
}

async function recordMismatch<Tx, T>(row: KeyRow, call: Call<Tx>): Promise<Run<T>> {
  const { config, store } = call.engine;
  const fingerprint = Buffer.from(call.fingerprint.hash).toString('hex', 0, 6);
  await store
    .recordEvent(call.id, { type: 'payload_mismatch', actor: 'client', detail: { fingerprint } })
    // It is for the admin's eyes; the answer is known without it.
    .catch((error) => config.onError(error, { ...pointOf(call), during: 'database', instance: newInstance() }));
  return mismatch(call, executedOf(row));
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
  return { engine: call.engine, operation: call.id.operation, request: call.request, keys: keysOf(call) };
}

export function mismatch<Tx, T>(call: Call<Tx>, executed: boolean | 'unknown'): Run<T> {
  return { outcome: refuse('payload_mismatch', { executed, ...keysOf(call) }) };
}

export function inFlight<Tx, T>(call: Call<Tx>): Run<T> {
  return { outcome: refuse('in_flight', { executed: 'unknown', retryAfterMs: RETRY_AFTER_MS, ...keysOf(call) }) };
}

export function keysOf<Tx>({ id, nextKey }: Call<Tx>): { key: string; nextKey: string } {
  return { key: id.key, nextKey };
}
