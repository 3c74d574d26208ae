/** Time and chance, as the client sees them. To be replaced in tests alone. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` milliseconds, or at once when the signal aborts; it never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** At least 0, less than 1. */
  random(): number;
}

/** The longest time that a timer can hold: a longer wait would end at once. */
const MOST_MS = 2 ** 31 - 1;

/** The real one. It looks its functions up at each call, so that fake timers reach it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      // A signal may live as long as a page: each wait takes its listener with it.
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, MOST_MS));
      signal.addEventListener('abort', done);
    }),
};
