/** How much is done at once of what is done to many rows, and what ends it early. */
export interface Batches {
  /** Default 1000. */
  batch?: number;
  /** Aborted, it begins no other batch. */
  signal?: AbortSignal;
  /** Called behind each batch with the count so far. */
  onBatch?: (count: number) => void;
}

/**
 * Runs all of them at once, each for itself: what fails, or waits for a database that does not answer, keeps no other from its turn.
 * Resolves with what the first has come to.
 *
 * @throws the error of the one that has failed, as it is, when all have ended, and the first of several that say that the database
 * cannot be asked; of others an AggregateError, which says in one line what each comes to
 */
export async function everyOne<T>(...parts: [() => Promise<T>, ...(() => Promise<unknown>)[]]): Promise<T> {
  const ended = await Promise.allSettled(parts.map((part) => part()));
  const errors = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  if (errors.length === 0) return (ended[0] as PromiseFulfilledResult<T>).value;
  if (errors.length === 1 || errors.every(({ name }) => name === 'StoreUnavailableError')) throw errors[0];
  // Prisma's messages have many lines, and a log takes the last.
  throw new AggregateError(errors, errors.map(({ message }) => message.trim().split('\n').at(-1)).join('; '));
}

/** Takes batch after batch until one was not full, or the signal says to stop. Returns how many in all. */
export async function untilNoneIsLeft(
  next: (limit: number) => Promise<number>,
  { batch = 1000, signal, onBatch }: Batches = {},
): Promise<number> {
  let taken = 0;
  for (let last = batch; last === batch && !signal?.aborted; taken += last) {
    last = await next(batch);
    if (last > 0) onBatch?.(taken + last);
  }
  return taken;
}
