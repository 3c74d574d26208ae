import { isSettled, type KeyState, type KeyStatus } from '../core/key-state.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import type { PrincipalInput } from '../core/scope.ts';
import { settleWithin } from '../core/wait.ts';
import type { Fenced, KeyRow } from '../store/store.ts';
import { mayReplay, RETRY_AFTER_MS, replayRow } from './call-result.ts';
import { keysOf } from './conclusion.ts';
import type { Definition } from './definition.ts';
import { ensureReplicated } from './durability.ts';
import type { Engine } from './engine.ts';
import { type ResolvedKey, readKey, resolveKey } from './identity.ts';
import { recordTransition } from './instrumentation.ts';
import { completeKey } from './phases/completer.ts';

/** How long an answer about a key may take, in milliseconds, where the asker does not say. */
const DEADLINE_MS = 5000;

/** A question about one key, from whoever holds it. */
export interface KeyRequest {
  key: string;
  /** The principal that asks. Default: what the configured `scope` returns. */
  scope?: PrincipalInput | undefined;
  /** How long the answer may take, in milliseconds. Default 5000. */
  deadlineMs?: number | undefined;
}

/** The result of a fence: the tombstone, or the state of the key that was faster. */
export type FenceResult<T> = { fenced: true; nextKey: string } | ({ fenced: false } & KeyStatus<T>);

/**
 * Reads the state of a key (S5). Changes nothing, but lets the completer go on with a key that its executor has left.
 * A claim that is not committed yet shows as `in_progress`.
 *
 * @throws StoreUnavailableError when the database cannot be asked
 */
export async function statusOf<Tx, T>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: KeyRequest,
): Promise<KeyStatus<T> | Refusal> {
  const opened = await open(engine, definition, request);
  if ('ok' in opened) return opened;
  if (engine.flights.find(opened.id)) return describe(opened, 'in_progress');
  const probed = await opened.store.probe(opened.id);
  if (probed.kind === 'existing') return await describeFound(opened, probed.row);
  return probed.kind === 'locked' ? describe(opened, 'in_progress') : await describeAbsent(opened);
}

async function describeAbsent<Tx, T>(opened: OpenedKey<Tx>): Promise<KeyStatus<T>> {
  const absent = describe<T>(opened, 'absent');
  if (!opened.definition.options.oncePer) return absent;
  const answer = (await opened.store.events(opened.id)).findLast(({ type }) => type === 'answered_by');
  return { ...absent, ...(answer?.detail?.key && { by: answer.detail.key }) };
}

/**
 * Gives a key up for good (S5): once this says `fenced`, the key never executes, and the intent may go on under a new
 * one. Waits for a claim that is not committed yet, and loses to one that is.
 *
 * @throws StoreUnavailableError when the database cannot be asked
 */
export async function fenceKey<Tx, T>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: KeyRequest,
): Promise<FenceResult<T> | Refusal> {
  // Each tombstone is a row, so only a key that could run at all gets one.
  const opened = await open(engine, definition, request, definition.options.acceptKeys ?? 'minted');
  if ('ok' in opened) return opened;
  const { windowMs, retentionMs, waitMs } = engine.config;
  const wanted = { ...opened.id, mintedAt: opened.mintedAt, windowMs, retentionMs };
  const fenced = await engine.slots.patiently<Fenced>(
    waitMs,
    (wait) => opened.store.fence({ ...wanted, waitMs: wait }),
    ({ kind }) => kind === 'locked',
  );
  if (fenced.kind === 'fenced' || (fenced.kind === 'existing' && fenced.row.state === 'abandoned')) {
    await ensureReplicated(opened);
    if (fenced.kind === 'fenced') recordTransition(engine.config, opened.id, { from: 'absent', to: 'abandoned' });
    return { fenced: true, nextKey: opened.nextKey };
  }
  // The row of an expired key may be gone. A claim that was made in time and still runs decides (K3).
  const found = fenced.kind === 'expired' ? await opened.store.probe(opened.id) : fenced;
  if (found.kind === 'locked') return { fenced: false, ...describe<T>(opened, 'in_progress') };
  if (found.kind !== 'existing') return refuse(UNUSABLE[found.kind], keysOf(opened));
  const described = await describeFound<Tx, T>(opened, found.row);
  return 'ok' in described ? described : { fenced: false, ...described };
}

/** The codes of a key that gets no tombstone, for it could not run any more, or yet. */
const UNUSABLE = { absent: 'key_expired', early: 'key_invalid' } as const;

/**
 * Returns the row, after the completer had a turn at it where its executor has left it: whoever asks need not wait for a
 * worker (S5). It waits no longer than a duplicate does, and what is begun goes on.
 */
async function driveOn<Tx>({ engine, store }: OpenedKey<Tx>, row: KeyRow): Promise<KeyRow> {
  if (isSettled(row.state)) return row;
  const completed = completeKey(engine, row).catch((error) => {
    const { operation, key } = row;
    engine.config.onError(error, { operation, key, during: 'database' });
  });
  await settleWithin(completed, engine.config.waitMs, () => {});
  return (await store.find(row)) ?? row;
}

/** A key with who asks, by when (in milliseconds of `performance.now()`), and a store that answers before that. */
type OpenedKey<Tx> = Exclude<Awaited<ReturnType<typeof open<Tx>>>, Refusal>;

async function open<Tx>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  { key, scope, deadlineMs = DEADLINE_MS }: KeyRequest,
  acceptKeys: 'minted' | 'any' = 'any',
) {
  const deadline = performance.now() + deadlineMs;
  // Nobody is asked who acts: what is no key is nobody's.
  const parsed = readKey(key);
  if ('ok' in parsed) return parsed;
  const asked = { key, scope, acceptKeys, operation: definition.options.name, proof: 'none', deadline } as const;
  const resolved = await resolveKey(engine.config, asked);
  return 'ok' in resolved
    ? resolved
    : { ...resolved, engine, definition, deadline, store: engine.store.until(deadline) };
}

function describe<T>({ id, nextKey }: ResolvedKey, state: 'in_progress' | 'unknown' | 'absent'): KeyStatus<T> {
  const { operation, key } = id;
  return { operation, key, state, nextKey, ...(state === 'absent' ? {} : { retryAfterMs: RETRY_AFTER_MS }) };
}

/** Tells of a row what is as durable as an answer, and nothing of it to who may no longer see it. */
async function describeFound<Tx, T>(opened: OpenedKey<Tx>, found: KeyRow): Promise<KeyStatus<T> | Refusal> {
  const { id, definition, deadline, store } = opened;
  if (!(await mayReplay(opened.engine, definition, id, deadline))) return refuse('unauthorized', keysOf(opened));
  const row = await driveOn(opened, found);
  if (isSettled(row.state)) await ensureReplicated(opened);
  const described = describeRow<Tx, T>(opened, row);
  const thing = definition.options.oncePer ? await store.thingOf(row) : null;
  return thing === null ? described : { ...described, thing };
}

function describeRow<Tx, T>(opened: OpenedKey<Tx>, row: KeyRow): KeyStatus<T> {
  const state: KeyState = row.state;
  if (!isSettled(state)) return describe(opened, state);
  const { id, nextKey, definition } = opened;
  const { outcome, redirect, leadsTo } = replayRow<T>(row, definition, { nextKey, asResponse: false });
  const to = redirect?.url ?? leadsTo;
  const { operation, key } = id;
  const settledAt = row.settledAt?.toISOString();
  return { operation, key, state, outcome, nextKey, ...(to && { redirect: to }), ...(settledAt && { settledAt }) };
}
