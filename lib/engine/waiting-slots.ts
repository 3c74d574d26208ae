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
