import type { ClientLike } from './driver.ts';

/** The connections of a wrapped pool that code of others has taken for one question, and not given back yet. */
export class CheckedOutClients {
  readonly #taken = new Set<ClientLike>();
  #whyGivenUp: unknown;

  /** Notes one until it is given back. One that comes too late is of no use any more. */
  add(client: ClientLike): void {
    // Of this checkout: behind it `client.release` is the next one's.
    const { release } = client;
    this.#taken.add(client);
    client.release = (broken) => {
      if (this.#taken.delete(client)) release.call(client, broken);
    };
    if (this.#whyGivenUp !== undefined) client.release(this.#whyGivenUp);
  }

  /** Nobody waits for the question any more: they are destroyed, and whoever has taken them need not give them back. */
  destroy(why: unknown): void {
    this.#whyGivenUp = why;
    for (const client of this.#taken) client.release(why);
  }
}
