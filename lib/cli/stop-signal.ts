const SAME_GESTURE_MS = 500;

/** Ctrl-C or SIGTERM lets a worker finish what is running; a second one ends the process at once. */
export function stopOnSignal(stop: () => void): void {
  let askedAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The terminal and npm both pass on one Ctrl-C: what follows at once is the same gesture.
      if (askedAt !== undefined && performance.now() - askedAt > SAME_GESTURE_MS) process.exit(1);
      if (askedAt !== undefined) return;
      askedAt = performance.now();
      console.log('The worker finishes what is running …');
      stop();
    });
  }
}
