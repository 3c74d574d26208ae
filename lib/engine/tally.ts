import { REPEATS, type Tallied, telemetryOf } from '../core/codes.ts';
import type { Outcome } from '../core/outcome.ts';
import { type KeyId, nameOf } from '../core/scope.ts';
import type { Repeat, Tally } from '../store/store.ts';

/** How long counts stay in this process, in milliseconds. */
const EVERY_MS = 10_000;
/** Names of operations are few; of keys this bounds what is written at once. What is beyond is not counted. */
const MOST = 1000;

/**
 * Counts how this process's calls ended, for the admin view's chart, and how often keys were answered again, for their pages;
 * and writes it down every ten seconds while there is anything to write. Never delays, fails or changes a call: counting is
 * an addition in memory.
 *
 * A sketch, not a ledger. A process that is killed takes along what it has counted since it last wrote, ten seconds at
 * most. Counts that could not be written are kept, and written with the next ones, into the ten minutes of then; where
 * only the database's answer was lost, they are in there twice. Nobody is told.
 */
export class Tallies {
  readonly #write: (counts: readonly Tally[], repeats: readonly Repeat[]) => Promise<void>;
  #counts = new Map<string, Tally>();
  #repeats = new Map<string, Repeat>();
  #isWaiting = false;

  /** @param write writes counts down, all of them or none */
  constructor(write: (counts: readonly Tally[], repeats: readonly Repeat[]) => Promise<void>) {
    this.#write = write;
  }

  /**
   * Counts a call, and hands back what it is given.
   *
   * @param answers the key that its answer is of, where the call has not claimed that itself
   */
  count<R extends { outcome: Outcome<unknown> }>(operation: string, run: R, answers?: KeyId): R {
    const { outcome } = run;
    const how = tallied(outcome);
    if (!how) return run;
    add(this.#counts, `${how} ${operation}`, { operation, outcome: how, count: 1 });
    const as = how === 'replayed' ? how : !outcome.ok && outcome.code;
    const type = answers && REPEATS.find((one) => one === as);
    if (type) {
      const { tenant, principal, operation, key } = answers;
      const at = performance.now();
      const repeat = { tenant, principal, operation, key, type, count: 1, firstAt: at, lastAt: at };
      add(this.#repeats, `${type} ${nameOf(answers)}`, repeat);
    }
    if (!this.#isWaiting) this.#wait();
    return run;
  }

  /** A timer that keeps no process alive. */
  #wait(): void {
    this.#isWaiting = true;
    // The next call begins another wait.
    setTimeout(() => void this.#end().finally(() => (this.#isWaiting = false)), EVERY_MS).unref();
  }

  async #end(): Promise<void> {
    const [counts, repeats] = [this.#counts, this.#repeats];
    [this.#counts, this.#repeats] = [new Map(), new Map()];
    try {
      await this.#write([...counts.values()], [...repeats.values()]);
    } catch {
      for (const [name, more] of this.#counts) add(counts, name, more);
      for (const [name, more] of this.#repeats) add(repeats, name, more);
      [this.#counts, this.#repeats] = [counts, repeats];
    }
  }
}

/** @param more came behind what is there */
function add<C extends { count: number; lastAt?: number | undefined }>(
  all: Map<string, C>,
  name: string,
  more: C,
): void {
  const known = all.get(name);
  if (known) {
    known.count += more.count;
    known.lastAt = more.lastAt;
  } else if (all.size < MOST) all.set(name, more);
}

/** Returns the kind that a call counts as. */
function tallied(outcome: Outcome<unknown>): Tallied | undefined {
  if (outcome.ok) return outcome.replayed ? 'replayed' : 'created';
  if (outcome.code === 'failed' && outcome.replayed) return 'replayed';
  return telemetryOf(outcome.code).tallied;
}
