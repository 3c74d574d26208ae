/**
 * Cuts one wait short: a look takes all that is there, and a second one would find nothing. A signal that is sent while
 * nobody waits is kept for the next wait, so a worker that was busy then looks again before it rests, and overlooks nothing
 * that was announced before the signal.
 */
export class WakeSignal {
  #isSet = false;
  readonly #waiting = new Set<() => void>();

  send(): void {
    const [wake] = this.#waiting;
    if (wake) wake();
    else this.#isSet = true;
  }

  /** Resolves after `ms`, at a signal, or when `stopping` is aborted. */
  wait(ms: number, stopping: AbortSignal): Promise<void> {
    if (this.#isSet || stopping.aborted) {
      this.#isSet = false;
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
