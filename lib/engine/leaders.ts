import { type KeyId, nameOf } from '../core/scope.ts';
import type { Executed } from '../store/store.ts';

/** How an execution ended, or that it was not admitted, with the milliseconds to wait. */
export type Ended =
  | Executed
  | { kind: 'not_admitted'; retryAfterMs: number }
  /** In phases: what was finished stands, and the key can go on from there. */
  | { kind: 'suspended'; error: unknown };

/** An execution under way in this process, which its duplicates follow without a connection (C2). */
export interface Leader {
  readonly fingerprint: Uint8Array;
  /** A committed row has this fingerprint: the row of phases, which is there before they have ended. */
  readonly hasRow: boolean;
  /** Resolves when there is such a row. Never, where there is none before the end. */
  untilRow(): Promise<void>;
  /** How patient its caller was when it came: what its followers compare themselves with. */
  readonly waitMs: number;
  /** When its caller gives up, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Aborted when its caller has gone away. */
  readonly signal?: AbortSignal | undefined;
  readonly ended: Promise<Ended>;
}

/** The executions under way, by key. Only a shortcut: what one process does not know, the unique index does. */
export class Leaders {
  readonly #byId = new Map<string, Leader>();

  find(id: KeyId): Leader | undefined {
    return this.#byId.get(nameOf(id));
  }

  /**
   * Registers the leader before anything is awaited, so that of two calls in one tick only one leads.
   *
   * @param execute is given what says that a row with the leader's fingerprint is committed
   */
  lead(
    id: KeyId,
    leader: Omit<Leader, 'ended' | 'hasRow' | 'untilRow'>,
    execute: (claimed: () => void) => Promise<Ended>,
  ): Promise<Ended> {
    const name = nameOf(id);
    const waiting: (() => void)[] = [];
    const untilRow = () => new Promise<void>((resolve) => void waiting.push(resolve));
    const running = { ...leader, hasRow: false, untilRow };
    const claimed = () => {
      running.hasRow = true;
      for (const seen of waiting) seen();
    };
    // Removed before anybody hears of the end: a follower that must take over does not find the old leader again.
    const ended = execute(claimed).finally(() => this.#byId.delete(name));
    this.#byId.set(name, Object.assign(running, { ended }));
    return ended;
  }
}

/** How a leader ended, or undefined when it outlasted `waitMs`. */
export async function follow(
  leader: { ended: Promise<Ended | undefined> },
  waitMs: number,
): Promise<Ended | undefined> {
  if (waitMs <= 0) return undefined;
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, waitMs, undefined);
    leader.ended.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
