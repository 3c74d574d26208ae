import type { Fingerprint } from '../core/fingerprint.ts';
import { type KeyId, nameOf } from '../core/scope.ts';
import { settleWithin } from '../core/wait.ts';
import type { FlightResult } from './call-result.ts';

/** The call that started a flight, as far as those that join compare themselves with it. */
interface FlightCall {
  readonly fingerprint: Fingerprint;
  /** How patient its caller was when it came. */
  readonly waitMs: number;
  /** When its caller gives up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** `signal`: aborted when its caller has gone away. */
  readonly request: { readonly signal?: AbortSignal | undefined };
}

/** An execution under way in this process, which its duplicates join without a connection (C2). */
export class Flight {
  readonly startedBy: FlightCall;
  /** A committed row has this fingerprint: the row of phases, which is there before they have ended. */
  hasRow = false;
  #seeRow: (() => void)[] = [];
  readonly #remove: () => void;
  /** Made once somebody joins: most executions nobody does, and each promise costs. */
  #result: Promise<FlightResult> | undefined;
  #resolve: ((result: FlightResult) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(startedBy: FlightCall, remove: () => void) {
    this.startedBy = startedBy;
    this.#remove = remove;
  }

  /**
   * How it ended, or undefined when it outlasted `waitMs`. Ask in the tick in which `SingleFlight.find` has found the flight: an
   * end that has been is told to nobody.
   *
   * @param untilRow there is no more to wait for once the row is committed
   */
  async join(waitMs: number, { untilRow = false } = {}): Promise<FlightResult | undefined> {
    if (waitMs <= 0 || (untilRow && this.hasRow)) return undefined;
    this.#result ??= new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const rowCommitted = new Promise<undefined>((resolve) => {
      if (untilRow) this.#seeRow.push(() => resolve(undefined));
    });
    return await settleWithin(Promise.race([this.#result, rowCommitted]), waitMs, () => undefined);
  }

  /** The row is committed. */
  announceRow(): void {
    this.hasRow = true;
    for (const see of this.#seeRow) see();
  }

  /** It is over. A call that had joined and must execute by itself hears of it in a later tick, when the flight is gone. */
  end(result: FlightResult): void {
    this.#remove();
    this.#resolve?.(result);
  }

  /** The same where it threw. */
  fail(error: unknown): void {
    this.#remove();
    this.#reject?.(error);
  }
}

/** The executions under way, by key. Only a shortcut: what one process does not know, the unique index does. */
export class SingleFlight {
  readonly #byId = new Map<string, Flight>();

  find(id: KeyId): Flight | undefined {
    return this.#byId.get(nameOf(id));
  }

  /**
   * Starts a flight. Call it in the tick in which `find` has found none, so that of two calls only one starts; and end it,
   * whatever happens.
   */
  start(id: KeyId, startedBy: FlightCall): Flight {
    const name = nameOf(id);
    const flight = new Flight(startedBy, () => this.#byId.delete(name));
    this.#byId.set(name, flight);
    return flight;
  }
}

/**
 * Bounds how many connections wait for other processes' claims (C5): a fifth of the pool, at least one. Without it,
 * ten slow keys held elsewhere would take all ten connections, and every other key would wait with them.
 */
export class WaitingSlots {
  #free: number;

  constructor(poolSize: number) {
    this.#free = Math.max(1, Math.floor(poolSize / 5));
  }

  /**
   * Tries at once, without waiting. Where that meets a lock, tries again with the whole wait, if a slot is free;
   * if none is, the first answer stands.
   */
  async patiently<T>(
    waitMs: number,
    attempt: (waitMs: number) => Promise<T>,
    isLocked: (result: T) => boolean,
  ): Promise<T> {
    const first = await attempt(0);
    return isLocked(first) ? await this.again(first, waitMs, attempt) : first;
  }

  /** The second half of that, for who has met a lock: `locked` is the first answer. */
  async again<T>(locked: T, waitMs: number, attempt: (waitMs: number) => Promise<T>): Promise<T> {
    if (waitMs <= 0 || this.#free === 0) return locked;
    this.#free--;
    try {
      return await attempt(waitMs);
    } finally {
      this.#free++;
    }
  }
}
