import type { Begun, NewStep, Opened, Work, Write } from '../../store/leases.ts';

/**
 * A transaction that stays open while the code outside goes on, which says what it is to end in. `Ended`: what the store
 * says of it then. Whatever it ends in, it writes once.
 */
export class OpenTransaction<Tx, Ended> {
  /** Undefined where it has ended before anything could run in it. */
  readonly opened: Promise<Opened<Tx> | undefined>;
  /** Never rejects, unless the store does. */
  readonly ended: Promise<Ended>;
  #end!: (write: Write) => void;
  #fail!: (error: unknown) => void;

  /** @param begin hands its transaction out, and ends it with what it is given */
  constructor(begin: (run: Work<Tx>) => Promise<Ended>) {
    const write = new Promise<Write>((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    write.catch(() => {}); // nobody waits for it where the transaction could not begin
    let open!: (opened: Opened<Tx> | undefined) => void;
    this.opened = new Promise((resolve) => {
      open = resolve;
    });
    this.ended = begin((opened) => {
      open(opened);
      return write;
    });
    const over = () => open(undefined);
    this.ended.then(over, over);
  }

  /** Writes this, and commits. */
  commit(write: Write): Promise<Ended> {
    this.#end(write);
    return this.ended;
  }

  /** Rolls back. What it comes to says why. */
  rollBack(error: unknown): Promise<Ended> {
    this.#fail(error);
    return this.ended;
  }
}

/** The open transaction of a run. */
export interface RunTransaction<Tx> {
  readonly transaction: OpenTransaction<Tx, Begun>;
  readonly opened: Opened<Tx>;
  /** The write that it is to make. */
  readonly write: Write & { steps: NewStep[] };
  /** A phase is running in it. */
  isBusy: boolean;
  /** There once it is being committed. */
  committing: Promise<Begun> | undefined;
  /** There while it is kept open for the function's next step. */
  stopLingering: (() => void) | undefined;
}
