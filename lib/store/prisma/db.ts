import { type SchemaPart, StoreUnavailableError } from '../store.ts';
import { outside, runWithin } from './async-context.ts';
import { type PrismaClientLike, primaryOf } from './client.ts';
import type { OwnClient } from './client-pool.ts';
import { isSchemaGap } from './errors.ts';
import { explainedBySchema, readSchema } from './keys/schema.ts';
import { explainedReadOnly, isOutage } from './outage.ts';
import type { Rename } from './tables.ts';
import { QUESTION_MS } from './timeouts.ts';
import { Checkouts } from './wire/checkouts.ts';
import { clientOn } from './wire/connection-client.ts';
import { withConnection } from './wire/pool.ts';
import { bounded, silence } from './with-timeout.ts';

/** How long the database may take to say what it has, once a statement has failed. */
const EXPLAIN_MS = 2000;

export interface GateOptions {
  /** Where the tables have names of their own. */
  rename?: Rename | undefined;
  /** The client in its part for connections of the kit's own. None: questions go through Prisma. */
  own?: OwnClient | undefined;
  part?: SchemaPart;
}

interface AskOptions {
  /** How long it may take, in milliseconds. */
  withinMs?: number;
  /** A second answer does no harm: asked again where the pool's connection had ended, unnoticed, before the question. */
  isRepeatable?: boolean;
}

/** A question to the database. Its statements are sent one after the other. */
type Question<T> = (db: PrismaClientLike) => Promise<T>;

/**
 * Asks the database whatever the kit asks outside the transactions that hold the user's code. No question waits without an
 * end, for a connection or for an answer; a connection of the kit's pool that has not answered in time is destroyed, so that
 * nobody is given it again. Of Prisma's own connections nothing is known here, so one of them goes on being silent.
 */
export class Gate {
  readonly #client: PrismaClientLike;
  readonly #options: GateOptions;
  readonly #deadline: number;

  /** @param deadline of all questions, in milliseconds of `performance.now()` */
  constructor(client: PrismaClientLike, options: GateOptions = {}, deadline = Number.POSITIVE_INFINITY) {
    this.#client = client;
    this.#options = options;
    this.#deadline = deadline;
  }

  until(deadline: number): Gate {
    return new Gate(this.#client, this.#options, Math.min(deadline, this.#deadline));
  }

  /**
   * @throws StoreUnavailableError where the database cannot be asked, takes no writes, or has not answered in time (C6)
   * @throws ConfigurationError where a table or a column is missing, or a right
   */
  async ask<T>(question: Question<T>, { withinMs = QUESTION_MS, isRepeatable = false }: AskOptions = {}): Promise<T> {
    return await this.#explaining(this.#deadlineIn(withinMs), async (deadline) => {
      const first = this.#askOnce(question, deadline);
      return await (isRepeatable
        ? first.catch((error) => {
            if (!isOutage(error) || isOver(deadline)) throw error;
            return this.#askOnce(question, deadline);
          })
        : first);
    });
  }

  /**
   * The same through the user's own client: where code of theirs takes part, or the client itself is in question. On a pool of
   * Prisma's own, what has not answered in time keeps its connection.
   */
  async askThroughClient<T>(question: Question<T>, { withinMs = QUESTION_MS }: AskOptions = {}): Promise<T> {
    return await this.#explaining(this.#deadlineIn(withinMs), async (deadline) => {
      const checkouts = new Checkouts();
      const asked = runWithin({ checkouts }, () => question(this.#client));
      return await bounded(asked, deadline - performance.now()).catch((error) => {
        if (isOutage(error)) checkouts.giveUp(error);
        throw error;
      });
    });
  }

  async #askOnce<T>(question: Question<T>, deadline: number): Promise<T> {
    const left = () => Math.max(0, deadline - performance.now());
    const { own, rename } = this.#options;
    const pool = own && (await own.findAnyPool(left()));
    const answered =
      pool &&
      (await withConnection(pool, left(), async (connection) => {
        if (!connection.takesFlights) return undefined;
        return { answer: await bounded(question(clientOn(connection, rename)), left()) };
      }));
    return answered ? answered.answer : await bounded(question(primaryOf(this.#client)), left());
  }

  /** Throws what explains it, where a table or a column is missing. For what would otherwise give back the error as a value. */
  async throwSchemaGap(error: unknown): Promise<void> {
    if (isSchemaGap(error)) throw await this.#explained(error);
  }

  #deadlineIn(withinMs: number): number {
    return Math.min(this.#deadline, performance.now() + withinMs);
  }

  /** Nothing that the kit asks for itself is part of a handler's transaction. */
  async #explaining<T>(deadline: number, ask: (deadline: number) => Promise<T>): Promise<T> {
    try {
      if (isOver(deadline)) throw silence(0);
      return await outside(() => ask(deadline));
    } catch (error) {
      if (isOutage(error)) {
        throw new StoreUnavailableError('The database could not be reached.', { cause: explainedReadOnly(error) });
      }
      throw await this.#explained(error);
    }
  }

  #explained(error: unknown): Promise<unknown> {
    const { part = 'keys' } = this.#options;
    const read = () => outside(() => this.#askOnce(readSchema, performance.now() + EXPLAIN_MS));
    return explainedBySchema(error, read, part);
  }
}

const isOver = (deadline: number) => deadline <= performance.now();
