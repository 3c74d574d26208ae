/**
 * Cuts a wait short: one, for who looks takes all that is there, and a second one would look in vain. A ring while nobody
 * waits is kept for the next wait: whoever is at work when it rings looks again before it rests, so nothing that was
 * announced before the ring is overlooked.
 */
export class Bell {
  #isRung = false;
  readonly #waiting = new Set<() => void>();

  ring(): void {
    const [wake] = this.#waiting;
    if (wake) wake();
    else this.#isRung = true;
  }

  /** Resolves after `ms`, at a ring, or when `stopping` is aborted. */
  wait(ms: number, stopping: AbortSignal): Promise<void> {
    if (this.#isRung || stopping.aborted) {
      this.#isRung = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      // By hand, not by AbortSignal.any: on Node 20 that leaks one signal per wait for as long as the worker lives.
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        stopping.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
      stopping.addEventListener('abort', wake);
    });
  }
}
