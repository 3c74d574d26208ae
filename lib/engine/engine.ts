import type { Store } from '../store/store.ts';
import type { Config } from './config.ts';
import type { Definition, PhasedDefinition } from './definition.ts';
import type { CircuitBreakers } from './phases/circuit-breakers.ts';
import type { RecentRows } from './recent-rows.ts';
import type { SingleFlight } from './single-flight.ts';
import type { Tallies } from './tally.ts';
import type { WaitingSlots } from './waiting-slots.ts';

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
  /** The operations in phases by name, for the completer. */
  readonly registry: Map<string, PhasedDefinition<Tx>>;
  /** How many keys of each operation completers of this process are driving. */
  readonly driving: Map<string, number>;
}
