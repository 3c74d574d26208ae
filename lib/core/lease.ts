/**
 * The arithmetic of leases. A lease is a time-bounded right to write. Whether it has expired is judged by the
 * database's clock alone; an executor counts on its own only to stop early.
 *
 * Sources: Gray and Cheriton, "Leases", 1989; Kleppmann, "How to do distributed locking", 2016 (fencing tokens).
 */

/**
 * How long a key must be due, in milliseconds, to count as one whose operation no worker runs. As long as the longest pause of
 * a completer, so that a worker that runs it has come by, and far longer than workers are away for a deploy or a cron job
 * waits between its calls: where teams have workers of their own, none of them is told of another's keys.
 */
export const NO_WORKER_AFTER_MS = 3_600_000;

/** How often a lease is renewed, in milliseconds: two renewals may be lost before the third comes too late. */
export function renewalIntervalMs(leaseMs: number): number {
  return Math.max(1, Math.floor(leaseMs / 3));
}
