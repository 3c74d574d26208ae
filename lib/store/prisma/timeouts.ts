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
