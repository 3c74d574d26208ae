import { type ClientLike, type Seat, seatOn } from './seat.ts';

/** A connection of the pool that is ours until it is given back, which is done once, and never throws. */
export interface Checkout {
  readonly seat: Seat;
  /** @param broken why it must not be used again */
  giveBack(broken?: unknown): void;
}

/** For a connection that the pool has just given. */
export function checkedOut(client: ClientLike): Checkout {
  // Of this checkout: behind it `client.release` is the next one's.
  const { release } = client;
  const giveBack = (broken?: unknown) => {
    try {
      release.call(client, broken);
    } catch (error) {
      // Of a listener, or of whoever was waiting for the connection: it says nothing of what was done on it here.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
  return { seat: seatOn(client), giveBack };
}
