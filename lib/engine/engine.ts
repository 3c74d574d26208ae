import type { Store } from '../store/store.ts';
import type { Config } from './config.ts';
import type { Definition, PhasedDefinition } from './definition.ts';
import type { CircuitBreakers } from './phases/circuit-breakers.ts';
import type { RecentRows } from './recent-rows.ts';
import type { Tallies } from './tally.ts';
import type { SingleFlight, WaitingSlots } from './waiting.ts';

/** The parts that all operations of one app share. */
export interface Engine<Tx> {
  readonly store: Store<Tx>;
  readonly config: Config;
  readonly flights: SingleFlight;
  readonly recentRows: RecentRows;
  readonly slots: WaitingSlots;
  readonly breakers: CircuitBreakers;
  readonly tallies: Tallies;
  /** Every operation by name: two of one name would answer for each other. */
  readonly definitions: Map<string, Definition<Tx>>;
  /** The same as their users have them: each an `Operation`, whose file imports this one. */
  readonly operations: Map<string, { readonly name: string }>;
  /** Names that were defined in this turn of the event loop, where edits may define them anew. */
  readonly definedNow: Set<string>;
  /** The operations in phases by name, for the completer. */
  readonly registry: Map<string, PhasedDefinition<Tx>>;
  /** Names of operations that keys were asked for and that are not known here, once each was said. */
  readonly missing: Set<string>;
  /** How many keys of each operation completers of this process are driving. */
  readonly driving: Map<string, number>;
  /** The operations that were reported as unlisted, and when this process looks for more of them. */
  readonly unlisted: { readonly reported: Set<string>; nextLookAt: number };
}
