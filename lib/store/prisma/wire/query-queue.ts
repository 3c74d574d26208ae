import { IdempotencyError } from '../../../core/errors.ts';
import { driverError, isAnswer, isStalePreparedStatement, serverErrors } from '../errors.ts';

/**
 * The queries of one transaction, one at a time on its connection: `pg` will not queue them much longer, and what waits can
 * still be refused.
 */
export class QueryQueue {
  #tail: Promise<unknown> = Promise.resolve();
  /** How many queries are not answered yet. */
  pending = 0;
  /** A query was given up, and what the server has done of it, or will do, is not known. */
  isLost = false;
  /** The server has answered one with an error. */
  hasFailed = false;
  /** With this error, where its connection was lost. */
  lossError: unknown;
  /** The server has refused a statement that it was to keep: tried again without, everything may go through. */
  hasStaleStatement = false;

  /**
   * @param mayGo throws where it must not be sent any more, once it is its turn
   * @param isKept whether the server is to keep it
   */
  send<T>(query: () => Promise<T>, mayGo: () => void, isKept = false): Promise<T> {
    const sent = this.pending === 0 ? query() : this.#inTurn(query, mayGo);
    this.pending++;
    this.#tail = sent.then(this.#answered, isKept ? this.#keptFailed : this.#failed);
    return sent;
  }

  /** Until what has been sent is answered. */
  async idle(): Promise<void> {
    await this.#tail;
  }

  async #inTurn<T>(query: () => Promise<T>, mayGo: () => void): Promise<T> {
    await this.#tail;
    mayGo();
    return await query();
  }

  readonly #answered = () => {
    this.pending--;
  };

  readonly #keptFailed = (error: unknown) => {
    if (isStalePreparedStatement(driverError(error))) this.hasStaleStatement = true;
    this.#failed(error);
  };

  readonly #failed = (error: unknown) => {
    this.pending--;
    // Also where the user asks past Prisma, a conflict with others is one.
    if (isAnswer(error)) {
      serverErrors.add(error);
      this.hasFailed = true;
    }
    // Neither refused by us nor by the server: pg's `query_timeout`, behind which the query goes on, or a lost connection.
    else if (!(error instanceof IdempotencyError)) {
      this.isLost = true;
      this.lossError = error;
    }
  };
}
