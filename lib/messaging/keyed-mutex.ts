/**
 * Lets calls of one name run one after the other in this process. Others wait for them in the database all the same; here
 * they wait without a connection, so that many deliveries of one slow event do not use up the pool.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const ended = mine.catch(() => {});
    this.#last.set(name, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name);
    }
  }
}
