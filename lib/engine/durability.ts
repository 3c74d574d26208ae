import { isSettled } from '../core/key-state.ts';
import { StoreUnavailableError } from '../store/store.ts';
import type { FlightResult } from './call-result.ts';
import { withinTime } from './deadline.ts';
import type { Definition } from './definition.ts';
import type { Engine } from './engine.ts';

/** The durability of an operation's answers. */
interface Durable<Tx> {
  engine: Pick<Engine<Tx>, 'store'>;
  definition: { options: Definition<Tx>['options'] };
  /** In milliseconds of `performance.now()`. */
  deadline: number;
}

/** Asked first where everybody passes, for an await costs even if there is nothing to wait for. */
export function needsReplication<Tx>({ definition }: Pick<Durable<Tx>, 'definition'>): boolean {
  return definition.options.durability === 'replicated';
}

/**
 * Waits until all that has been read is on the synchronous standbys, for an operation that promises that. What is committed
 * on the primary is seen by everybody at once, also where the wait of its COMMIT was cancelled.
 *
 * @throws StoreUnavailableError where that is not known in time
 */
export async function ensureReplicated<Tx>(where: Durable<Tx>): Promise<void> {
  if (!needsReplication(where)) return;
  const { engine, definition, deadline } = where;
  await engine.store.awaitReplication(withinTime(definition.options, deadline));
}

/** The same of a row that was found, or a thing that is done: in doubt where that is not known. */
export async function confirmReplicated<Tx>(where: Durable<Tx>, ended: FlightResult): Promise<FlightResult> {
  const isDone = ended.kind === 'thing_done' || (ended.kind === 'existing' && isSettled(ended.row.state));
  if (!isDone) return ended;
  try {
    await ensureReplicated(where);
    return ended;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { kind: 'in_doubt', error };
  }
}
