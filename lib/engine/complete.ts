import { isSettled, type KeyState } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import type { Held } from '../store/leases.ts';
import type { Engine } from './call.ts';
import { newInstance } from './config.ts';
import type { Completed } from './idempotency.ts';
import { giveUp, isHopeless } from './pause.ts';
import { runHeld } from './phases.ts';
import { transitioned } from './transition.ts';
import { watchedCompletion } from './watch.ts';

const DEFAULT_LIMIT = 10;

/** `Idempotency.completeDue`: one pass of the completer (P4). */
export async function completeDue<Tx>(
  engine: Engine<Tx>,
  { limit = DEFAULT_LIMIT, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<Completed> {
  const completed: Completed = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
  if (signal?.aborted || engine.registry.size === 0) return completed;
  const taken = await engine.store.takeDue([...engine.registry.keys()], engine.config.leaseMs, limit);
  completed.taken = taken.length;
  const states = await Promise.all(taken.map((held) => drive(engine, held, signal).catch(() => undefined)));
  for (const state of states) {
    if (state === 'unknown') completed.unknown++;
    else if (state !== undefined && isSettled(state)) completed.settled++;
    else completed.unfinished++;
  }
  return completed;
}

/** `Idempotency.completeKey`. */
export async function completeKey<Tx>(engine: Engine<Tx>, id: KeyId): Promise<KeyState | undefined> {
  if (!engine.registry.has(id.operation)) return undefined;
  const held = await engine.store.takeOver(id, engine.config.leaseMs, false);
  return held && (await drive(engine, held));
}

/** Runs a key that nobody's client waits for, and says in which state it left it. */
async function drive<Tx>(engine: Engine<Tx>, held: Held, stop?: AbortSignal): Promise<KeyState | undefined> {
  const definition = engine.registry.get(held.id.operation);
  if (!definition) return undefined;
  transitioned(engine.config, held.id, { from: held.state, to: held.state, attempt: held.attempts });
  const left = { engine, held, options: definition.options, canAskAgain: false };
  if (isHopeless(left)) {
    await giveUp(left);
    return undefined;
  }
  const how = { deadline: Number.POSITIVE_INFINITY, stop };
  const ended = await watchedCompletion(held, () => runHeld(engine, definition, held, how));
  if (ended.kind === 'committed' || ended.kind === 'existing') return ended.row.state;
  if (ended.kind === 'suspended') {
    const { operation, key } = held.id;
    engine.config.onError(ended.error, { operation, key, during: 'phases', instance: newInstance() });
  }
  return undefined;
}
