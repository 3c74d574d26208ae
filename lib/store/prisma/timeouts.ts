import { StoreUnavailableError } from '../store.ts';

/** How long a question may take, with the wait for a connection, in milliseconds. */
export const QUESTION_MS = 3000;

/**
 * How much longer the first one may take: Prisma's engine starts, and the pool connects. With an eighth of a CPU, as functions have
 * that start cold, it is two seconds of these.
 */
export const START_MS = 7000;

/** How long a question may take that reads or deletes many rows. */
export const BATCH_MS = 60_000;

/** And one that reads the whole table: Prisma's five seconds would not do for one of some millions. */
export const ERASE_MS = 120_000;

/** A promise that is waited for, until when, and how the one who waits is told that it is late. */
interface Wait {
  until: number;
  isCatchingUp: boolean;
  late(): void;
}

// One timer watches over all waits of the process: a timer for each would cost an execution more than its hashes do.
const waits = new Set<Wait>();
const LOOK_EVERY_MS = 20;
/** How long what has come while the process itself stood still may take to be read, in milliseconds: timers come before it. */
const CATCH_UP_MS = 100;
let looking: NodeJS.Timeout | undefined;
let lookedAt = 0;

/**
 * The promise, or a rejection when it has not settled in time, at most 20 ms later than asked. Where the process itself was late,
 * by a callback that took long or for want of a CPU, it is waited for another 100 ms, once: the answer may be there already. What
 * was begun goes on, and nobody hears what it comes to.
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
    const now = performance.now();
    const wait: Wait = { until: now + withinMs, isCatchingUp: false, late: () => reject(lateness()) };
    waits.add(wait);
    if (!looking) {
      lookedAt = now;
      looking = setInterval(look, LOOK_EVERY_MS);
    }
    void promise.then(resolve, reject).then(() => waits.delete(wait));
  });
}

function look(): void {
  const now = performance.now();
  const isLate = now - lookedAt > 2 * LOOK_EVERY_MS;
  lookedAt = now;
  for (const wait of waits) {
    if (wait.until > now) continue;
    if (isLate && !wait.isCatchingUp) {
      Object.assign(wait, { until: now + CATCH_UP_MS, isCatchingUp: true });
      continue;
    }
    waits.delete(wait);
    wait.late();
  }
  if (waits.size > 0) return;
  clearInterval(looking);
  looking = undefined;
}

export const timeoutError = (withinMs: number) =>
  new StoreUnavailableError(`The database did not answer within ${Math.ceil(withinMs)} ms.`);
