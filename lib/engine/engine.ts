import type { Store } from '../store/store.ts';
import type { Config } from './config.ts';
import type { Definition, PhasedDefinition } from './definition.ts';
import { CircuitBreakers } from './phases/circuit-breakers.ts';
import { RecentRows } from './recent-rows.ts';
import { Tallies } from './tally.ts';
import { SingleFlight, WaitingSlots } from './waiting.ts';

/** The parts that all operations of one app share. */
export class Engine<Tx> {
  readonly store: Store<Tx>;
  readonly config: Config;
  readonly flights = new SingleFlight();
  readonly recentRows = new RecentRows();
  readonly slots: WaitingSlots;
  readonly breakers = new CircuitBreakers();
  readonly tallies: Tallies;
  /** Every operation by name: two of one name would answer for each other. */
  readonly definitions = new Map<string, Definition<Tx>>();
  /** The same as their users have them: each an `Operation`, whose file imports this one. */
  readonly operations = new Map<string, { readonly name: string }>();
  /** Names that were defined in this turn of the event loop, where edits may define them anew. */
  readonly definedNow = new Set<string>();
  /** The operations in phases by name, for the completer. */
  readonly registry = new Map<string, PhasedDefinition<Tx>>();
  /** Names of operations that keys were asked for and that are not known here, once each was said. */
  readonly missing = new Set<string>();
  /** How many keys of each operation completers of this process are driving. */
  readonly driving = new Map<string, number>();
  /** The operations that were reported as unlisted, and when this process looks for more of them. */
  readonly unlisted = { reported: new Set<string>(), nextLookAt: 0 };

  constructor(store: Store<Tx>, config: Config) {
    this.store = store;
    this.config = config;
    this.slots = new WaitingSlots(config.poolSize);
    this.tallies = new Tallies((...counted) => store.addTallies(...counted));
  }
}
