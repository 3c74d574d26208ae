import { type Tallied, telemetryOf } from '../core/codes.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Tally } from '../store/store.ts';

/** How long counts stay in this process, in milliseconds. */
const EVERY_MS = 10_000;
/** Names are the developer's, so they are few; this is for whoever makes them up as they go. */
const MAX_OPERATIONS = 1000;

/**
 * Counts how this process's calls ended, for the admin view's chart, and writes it down every ten seconds while there is
 * anything to write. Never delays, fails or changes a call: counting is an addition in memory.
 *
 * A sketch, not a ledger. A process that is killed takes along what it has counted since it last wrote, ten seconds at
 * most. Counts that could not be written are kept, and written with the next ones, into the ten minutes of then; where
 * only the database's answer was lost, they are in there twice. Nobody is told.
 */
export class Tallies {
  readonly #add: (counts: readonly Tally[]) => Promise<void>;
  #counts = new Map<string, Map<Tallied, number>>();
  #isWaiting = false;

  /** @param add writes counts down, all of them or none */
  constructor(add: (counts: readonly Tally[]) => Promise<void>) {
    this.#add = add;
  }

  /** Counts a call, and hands back what it is given. */
  count<R extends { outcome: Outcome<unknown> }>(operation: string, run: R): R {
    const how = tallied(run.outcome);
    if (how) this.#addOne(operation, how, 1);
    return run;
  }

  #addOne(operation: string, how: Tallied, more: number): void {
    const counts = this.#counts.get(operation) ?? new Map<Tallied, number>();
    if (counts.size === 0 && this.#counts.size >= MAX_OPERATIONS) return;
    this.#counts.set(operation, counts.set(how, (counts.get(how) ?? 0) + more));
    if (!this.#isWaiting) this.#wait();
  }

  /** A timer that keeps no process alive. */
  #wait(): void {
    this.#isWaiting = true;
    // The next call begins another wait.
    setTimeout(() => void this.#write().finally(() => (this.#isWaiting = false)), EVERY_MS).unref();
  }

  async #write(): Promise<void> {
    const counts = this.#counts;
    this.#counts = new Map();
    const rows = [...counts].flatMap(([operation, each]) =>
      [...each].map(([outcome, count]) => ({ operation, outcome, count })),
    );
    try {
      await this.#add(rows);
    } catch {
      this.#isWaiting = true; // while they are put back
      for (const { operation, outcome, count } of rows) this.#addOne(operation, outcome, count);
    }
  }
}

/** Returns the kind that a call counts as. */
function tallied(outcome: Outcome<unknown>): Tallied | undefined {
  if (outcome.ok) return outcome.replayed ? 'replayed' : 'created';
  if (outcome.code === 'failed' && outcome.replayed) return 'replayed';
  return telemetryOf(outcome.code).tallied;
}
