import { type KeyId, nameOf } from '../core/scope.ts';
import { settleWithin } from '../core/wait.ts';
import type { Executed } from '../store/store.ts';

/** How an execution ended, or that it was not admitted, with the milliseconds to wait. */
export type Ended =
  | Executed
  | { kind: 'not_admitted'; retryAfterMs: number }
  /** In phases: what was finished stands, and the key can go on from there. */
  | { kind: 'suspended'; error: unknown };

/** What its followers compare themselves with. */
export interface Led {
  readonly fingerprint: Uint8Array;
  /** How patient its caller was when it came. */
  readonly waitMs: number;
  /** When its caller gives up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Aborted when its caller has gone away. */
  readonly signal?: AbortSignal | undefined;
}

/** An execution under way in this process, which its duplicates follow without a connection (C2). */
export class Leader {
  readonly led: Led;
  /** A committed row has this fingerprint: the row of phases, which is there before they have ended. */
  hasRow = false;
  #seeRow: (() => void)[] = [];
  readonly #stepDown: () => void;
  /** There once somebody follows: most executions nobody does, and each promise costs. */
  #ended: Promise<Ended> | undefined;
  #resolve: ((ended: Ended) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(led: Led, stepDown: () => void) {
    this.led = led;
    this.#stepDown = stepDown;
  }

  /** For a follower, in the tick in which `Leaders.find` has found it: nobody hears of an end that has been. */
  get ended(): Promise<Ended> {
    this.#ended ??= new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    return this.#ended;
  }

  /** The row is committed. */
  showRow(): void {
    this.hasRow = true;
    for (const see of this.#seeRow) see();
  }

  /** Resolves when there is such a row. Never, where there is none before the end. */
  untilRow(): Promise<void> {
    return new Promise((resolve) => void this.#seeRow.push(resolve));
  }

  /** It is over. A follower that must take over hears of it in a later tick, and does not find the old leader again. */
  end(ended: Ended): void {
    this.#stepDown();
    this.#resolve?.(ended);
  }

  /** The same where it threw. */
  fail(error: unknown): void {
    this.#stepDown();
    this.#reject?.(error);
  }
}

/** The executions under way, by key. Only a shortcut: what one process does not know, the unique index does. */
export class Leaders {
  readonly #byId = new Map<string, Leader>();

  find(id: KeyId): Leader | undefined {
    return this.#byId.get(nameOf(id));
  }

  /**
   * Begins to lead. Call it in the tick in which `find` has found nobody, so that of two calls only one leads; and say how
   * it has ended, whatever happens.
   */
  begin(id: KeyId, led: Led): Leader {
    const name = nameOf(id);
    const leader = new Leader(led, () => this.#byId.delete(name));
    this.#byId.set(name, leader);
    return leader;
  }
}

/** How a leader ended, or undefined when it outlasted `waitMs`. */
export async function follow(
  leader: { ended: Promise<Ended | undefined> },
  waitMs: number,
): Promise<Ended | undefined> {
  if (waitMs <= 0) return undefined;
  return await settleWithin(leader.ended, waitMs, () => undefined);
}
