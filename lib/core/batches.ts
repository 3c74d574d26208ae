/** How much one pass takes at once, and what ends it early. */
export interface Batches {
  /** Default 1000. */
  batch?: number;
  signal?: AbortSignal;
}

/** Takes batch after batch until one was not full, or the signal says to stop. Returns how many in all. */
export async function untilNoneIsLeft(
  next: (limit: number) => Promise<number>,
  { batch = 1000, signal }: Batches = {},
): Promise<number> {
  let taken = 0;
  for (let last = batch; last === batch && !signal?.aborted; taken += last) last = await next(batch);
  return taken;
}
