/** How long a question may take, with the wait for a connection, in milliseconds. */
export const QUESTION_MS = 3000;

/** The same for one that reads or deletes many rows. */
export const BATCH_MS = 60_000;

/** And for one that reads the whole table: Prisma's five seconds would not do for one of some millions. */
export const ERASE_MS = 120_000;
