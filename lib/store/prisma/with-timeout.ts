import { StoreUnavailableError } from '../store.ts';

/** A promise that is waited for, until when, and how the one who waits is told that it is late. */
interface Wait {
  readonly until: number;
  late(): void;
}

// One timer watches over all waits of the process: a timer for each would cost an execution more than its hashes do.
const waits = new Set<Wait>();
const LOOK_EVERY_MS = 20;
let looking: NodeJS.Timeout | undefined;

/**
 * The promise, or a rejection when it has not settled in time, at most 20 ms later than asked. What was begun goes on, and
 * nobody hears what it comes to.
 *
 * @param withinMs `Infinity`: for ever
 */
export function withTimeout<T>(
  promise: Promise<T>,
  withinMs: number,
  lateness: () => Error = () => timeoutError(withinMs),
): Promise<T> {
  if (withinMs === Number.POSITIVE_INFINITY) return promise;
  return new Promise((resolve, reject) => {
    const wait: Wait = { until: performance.now() + withinMs, late: () => reject(lateness()) };
    waits.add(wait);
    looking ??= setInterval(look, LOOK_EVERY_MS);
    promise.then(
      (value) => {
        waits.delete(wait);
        resolve(value);
      },
      (error) => {
        waits.delete(wait);
        reject(error);
      },
    );
  });
}

function look(): void {
  const now = performance.now();
  for (const wait of waits) {
    if (wait.until > now) continue;
    waits.delete(wait);
    wait.late();
  }
  if (waits.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}

export const timeoutError = (withinMs: number) =>
  new StoreUnavailableError(`The database did not answer within ${Math.max(0, Math.round(withinMs))} ms.`);
