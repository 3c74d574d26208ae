/**
 * Resolves after `ms` milliseconds, or at once when the signal aborts. `untilAborted` of core/wait.ts rejects then; a form
 * that has been left or called off just stops.
 */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    // A form may wait a hundred times under one signal: each wait takes its listener with it.
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

/** Resolves when the browser says it is online, or when the signal aborts. */
export function waitUntilOnline(signal: AbortSignal): Promise<unknown> | undefined {
  if (navigator.onLine) return;
  return new Promise((resolve) => {
    window.addEventListener('online', resolve, { once: true, signal });
    signal.addEventListener('abort', resolve);
  });
}
