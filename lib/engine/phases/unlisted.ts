import { ConfigurationError } from '../../core/errors.ts';
import { UNDRIVEN_AFTER_MS } from '../../core/lease.ts';
import { newInstance } from '../config.ts';
import type { Engine } from '../engine.ts';

/** The completer passes each second, and what is due for an hour can wait for a minute. */
const LOOK_EVERY_MS = 60_000;

const WHY =
  'A call to the outside may have been done, and no worker goes on with this key: none lists its operation. List it, also where .as() has renamed it.';

/**
 * Reports the unfinished keys of operations that no worker knows, once for each operation, and flags those that may have
 * been done. Never throws: what keeps it from looking keeps the completer from taking keys, which says so.
 */
export async function reportUnlisted<Tx>({ store, config, registry, unlisted }: Engine<Tx>): Promise<void> {
  if (performance.now() < unlisted.nextLookAt) return;
  unlisted.nextLookAt = performance.now() + LOOK_EVERY_MS;
  const found = await store
    .flagUnlisted([...registry.keys()], { overdueMs: UNDRIVEN_AFTER_MS, why: WHY })
    .catch(() => []);
  for (const { operation, count, doubtful, oldestKey: key } of found) {
    if (unlisted.reported.has(operation)) continue;
    unlisted.reported.add(operation);
    const flagged = doubtful > 0 ? ` ${doubtful} may have been done outside, and need a person's attention.` : '';
    const error = new ConfigurationError(
      `Nobody goes on with unfinished keys of ${operation}, ${count} of them, due for more than an hour: no worker lists the operation.${flagged} List it in lib/operations.ts, or import the module that defines it where this worker or cron route starts. A name that .as('${operation}') gives is listed beside the first one.`,
      { existing: [...registry.keys()], expected: operation },
    );
    config.onError(error, { operation, key, during: 'setup', instance: newInstance() });
  }
}
