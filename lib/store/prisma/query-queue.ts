import { IdempotencyError } from '../../core/errors.ts';
import { isAnswer } from './wire.ts';

/**
 * What is asked on one connection, one query at a time: `pg` will not queue them much longer, and what waits can still be
 * refused.
 */
export class QueryQueue {
  readonly #query: (...args: never[]) => unknown;
  #tail: Promise<unknown> = Promise.resolve();
  /** How many queries are not answered yet. */
  open = 0;
  /** A query was given up, and what the server has done of it, or will do, is not known. */
  isLost = false;

  constructor(query: (...args: never[]) => unknown) {
    this.#query = query;
  }

  /** @param mayGo throws where it must not be sent any more, once it is its turn */
  send(args: never[], mayGo: () => void): Promise<unknown> {
    const sent = this.open === 0 ? (this.#query(...args) as Promise<unknown>) : this.#inTurn(args, mayGo);
    this.open++;
    this.#tail = sent.then(this.#answered, this.#failed);
    return sent;
  }

  /** Until what has been sent is answered. */
  async idle(): Promise<void> {
    await this.#tail;
  }

  async #inTurn(args: never[], mayGo: () => void): Promise<unknown> {
    await this.#tail;
    mayGo();
    return await this.#query(...args);
  }

  readonly #answered = () => {
    this.open--;
  };

  readonly #failed = (error: unknown) => {
    this.open--;
    // Neither refused by us nor by the server: pg's `query_timeout`, behind which the query goes on, or a lost connection.
    if (!(error instanceof IdempotencyError) && !isAnswer(error)) this.isLost = true;
  };
}
