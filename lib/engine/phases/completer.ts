import { ConfigurationError } from '../../core/errors.ts';
import type { KeyState } from '../../core/key-state.ts';
import { NO_WORKER_AFTER_MS } from '../../core/lease.ts';
import type { KeyId } from '../../core/scope.ts';
import type { HeldKey } from '../../store/leases.ts';
import { assertSecret } from '../config.ts';
import type { Engine } from '../engine.ts';
import { instrumentCompletion, recordTransition } from '../instrumentation.ts';
import { isPassedOn } from '../kept.ts';
import { runHeld } from './executor.ts';
import { postponeCompleter } from './suspension.ts';

/** The result of one pass of the completer, in keys. */
export interface Completed {
  taken: number;
  /** Ended in an answer or a stored refusal. */
  settled: number;
  /** Outcome still unknown: asked again later, or waiting for a person. */
  unknown: number;
  /** Threw, or was taken over: another pass goes on with it. */
  unfinished: number;
}

const DEFAULT_LIMIT = 10;

/**
 * `Idempotency.completeDue`: one pass of the completer (P4).
 *
 * @throws ConfigurationError in production without a secret: it would run what a writer of the table has sealed without one
 */
export async function completeDue<Tx>(
  engine: Engine<Tx>,
  { limit = DEFAULT_LIMIT, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<Completed> {
  assertSecret(engine.config.secrets);
  const completed: Completed = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
  if (signal?.aborted) return completed;
  const taken = await takeShares(engine, limit);
  completed.taken = taken.length;
  const reported = reportUnlisted(engine); // beside the runs: the leases of what was taken have begun
  const states = await Promise.all(
    taken.map((held) =>
      drive(engine, held, signal)
        .catch(() => undefined)
        .finally(() => engine.driving.set(held.id.operation, (engine.driving.get(held.id.operation) ?? 1) - 1)),
    ),
  );
  await reported;
  for (const state of states) completed[state ? COUNTED_AS[state] : 'unfinished']++;
  return completed;
}

const COUNTED_AS = {
  in_progress: 'unfinished',
  unknown: 'unknown',
  succeeded: 'settled',
  failed: 'settled',
  abandoned: 'settled',
} as const satisfies Record<KeyState, keyof Completed>;

/**
 * Takes the keys that are due of each operation, as far as this process does not drive `limit` keys of it already. Calls
 * that overlap share the limit, so that a slow provider keeps no other operation waiting.
 */
async function takeShares<Tx>({ registry, driving, store, config }: Engine<Tx>, limit: number): Promise<HeldKey[]> {
  const shares = [...registry.keys()]
    .map((operation) => ({ operation, most: limit - (driving.get(operation) ?? 0) }))
    .filter(({ most }) => most > 0);
  if (shares.length === 0) return [];
  const count = (operation: string, by: number) => driving.set(operation, (driving.get(operation) ?? 0) + by);
  // Reserved until it is known how many are due: another call asks meanwhile.
  for (const { operation, most } of shares) count(operation, most);
  const taken = await store.takeDue(shares, config.leaseMs).finally(() => {
    for (const { operation, most } of shares) count(operation, -most);
  });
  for (const { id } of taken) count(id.operation, 1);
  return taken;
}

/** `Idempotency.completeKey`. Throws as `completeDue` does. */
export async function completeKey<Tx>(engine: Engine<Tx>, id: KeyId): Promise<KeyState | undefined> {
  assertSecret(engine.config.secrets);
  if (!engine.registry.has(id.operation)) return undefined;
  const held = await engine.store.takeOver(id, engine.config.leaseMs, false);
  return held && (await drive(engine, held));
}

/** Runs a key that nobody's client waits for, and says in which state it left it. */
async function drive<Tx>(engine: Engine<Tx>, held: HeldKey, stop?: AbortSignal): Promise<KeyState | undefined> {
  const definition = engine.registry.get(held.id.operation);
  if (!definition) return undefined;
  recordTransition(engine.config, held.id, { from: held.state, to: held.state, attempt: held.attempts });
  await postponeCompleter({ engine, held, options: definition.options });
  const limits = { deadline: Number.POSITIVE_INFINITY, stop };
  const ended = await instrumentCompletion(held, () => runHeld(engine, definition, held, limits));
  if (ended.kind === 'committed' || ended.kind === 'existing') return ended.row.state;
  // A key that was put off will come to its end. Another answer that is not kept may be the same each time, so it is reported.
  if (ended.kind === 'suspended' && !(isPassedOn(ended.error) && ended.error.code === 'deferred')) {
    const { operation, key } = held.id;
    engine.config.onError(ended.error, { operation, key, during: 'phases' });
  }
  return undefined;
}

/** The completer passes each second, and what is due for an hour can wait for a minute. */
const LOOK_EVERY_MS = 60_000;

const WHY =
  'A call to the outside may have been done, and no worker goes on with this key: none lists its operation. List it, also where .as() has renamed it.';

/**
 * Reports the unfinished keys of operations that no worker knows, once for each operation, and flags those that may have
 * been done. Never throws: what keeps it from looking keeps the completer from taking keys, which says so.
 */
async function reportUnlisted<Tx>({ store, config, registry, unlisted }: Engine<Tx>): Promise<void> {
  if (performance.now() < unlisted.nextLookAt) return;
  unlisted.nextLookAt = performance.now() + LOOK_EVERY_MS;
  const found = await store
    .flagUnlisted([...registry.keys()], { overdueMs: NO_WORKER_AFTER_MS, why: WHY })
    .catch(() => []);
  for (const { operation, count, doubtful, oldestKey: key } of found) {
    if (unlisted.reported.has(operation)) continue;
    unlisted.reported.add(operation);
    const flagged = doubtful > 0 ? ` ${doubtful} may have been done outside, and need a person's attention.` : '';
    const error = new ConfigurationError(
      `Nobody goes on with unfinished keys of ${operation}, ${count} of them, due for more than an hour: no worker lists the operation.${flagged} List it in lib/operations.ts, or import the module that defines it where this worker or cron route starts. A name that .as('${operation}') gives is listed beside the first one.`,
      { existing: [...registry.keys()], expected: operation },
    );
    config.onError(error, { operation, key, during: 'setup' });
  }
}
