import type { Statement } from '../statement.ts';
import { isAnswer, parserOf, toWire } from './encoding.ts';
import { WireWriter } from './message-writer.ts';

/** What the server said to one statement of a flight. `error`: as `pg` gives it. */
export type Arrival = { rows: Row[]; tag: string } | { error: unknown };

type Row = Record<string, unknown>;

interface Field {
  name: string;
  dataTypeID: number;
}

/** `pg`'s connection, as far as a query of one's own may use it. `pg-cursor` is one such query. */
interface ConnectionLike {
  readonly stream: { write(bytes: Uint8Array): unknown; destroy(): void };
}

/** The statements that a connection's server keeps, by their name, with the columns they answer in. */
export type Kept = Map<string, readonly Field[]>;

/** One statement of a flight. */
export interface Leg extends Statement {
  /** What the server may keep it as; nothing where the next transaction may meet another server. */
  name?: string | undefined;
  /** Whether it answers in no columns that would have to be described. */
  isControl?: boolean;
  /** Told once. Of a statement that was not executed: the error of the one before it. Must not throw. */
  tell(arrival: Arrival): void;
}

/**
 * Several statements as one query of `pg`'s: sent in one write, answered in one read, and none is executed behind one
 * that has failed. So a COMMIT that travels behind another statement commits nothing without it.
 *
 * What the server keeps is neither sent nor described again: planning our statements costs it several times what
 * executing them does.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class Flight {
  readonly #legs: readonly Leg[];
  readonly #values: readonly (string | Buffer | null)[][];
  readonly #kept: Kept;
  /** How many have been told. */
  #at = 0;
  #rows: Row[] = [];
  /** The answer to the last statement: by itself it is committed only once the server is ready for another. */
  #last: Arrival | undefined;
  #fields: readonly Field[] = [];
  #stream: ConnectionLike['stream'] | undefined;

  constructor(legs: readonly Leg[], kept: Kept) {
    this.#legs = legs;
    // Before anything is written: half a flight would leave the connection without an answer.
    this.#values = legs.map(({ values }) => values.map(toWire));
    this.#kept = kept;
  }

  submit(connection: ConnectionLike): void {
    this.#stream = connection.stream;
    this.#fields = this.#keptFields();
    const out = new WireWriter();
    this.#legs.forEach(({ name, text, mayWait, isControl }, at) => {
      const isKept = name !== undefined && this.#kept.has(name);
      // It may be there all the same: parsed in a flight that has failed since. To close what is not there is no error.
      if (name !== undefined && !isKept) out.close(name);
      if (mayWait) out.flush(); // the server keeps its answers to itself until it is asked for them, or through
      if (!isKept) out.parse(name ?? '', text);
      out.bind(name ?? '', this.#values[at] ?? []);
      if (!isKept && !isControl) out.describe();
      out.execute();
    });
    out.sync();
    connection.stream.write(out.bytes);
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    this.#fields = fields;
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Row = {};
    for (const [at, { name, dataTypeID }] of this.#fields.entries()) {
      const value = fields[at];
      row[name] = value === null || value === undefined ? null : parserOf(dataTypeID)(value);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const name = this.#legs[this.#at]?.name;
    if (name !== undefined) this.#kept.set(name, this.#fields);
    const arrival = { rows: this.#rows, tag: text };
    this.#rows = [];
    if (this.#at === this.#legs.length - 1) {
      this.#last = arrival;
      return;
    }
    this.#tell(arrival);
    this.#fields = this.#keptFields();
  }

  handleReadyForQuery(): void {
    if (this.#last) this.#tell(this.#last);
    // Always called: `pg` has put the end of its own timer there. The error is made only where there is something to
    // tell, for its stack costs as much as a dozen of our lines.
    this.callback(this.#at < this.#legs.length ? new Error('The server was ready before it had answered.') : undefined);
  }

  /** The server's word on the statement that is under way, or the connection's end. */
  handleError(error: unknown): void {
    this.callback(error);
  }

  /** What `pg` wraps, and calls where it gives up by itself (`query_timeout`). */
  callback = (error: unknown): void => {
    // Nobody waits for the answer any more, but the server may still claim, or commit: nothing must follow it on this
    // connection as if it had not.
    if (this.#at < this.#legs.length && !isAnswer(error)) this.#stream?.destroy();
    while (this.#at < this.#legs.length) this.#tell({ error });
  };

  #tell(arrival: Arrival): void {
    this.#legs[this.#at++]?.tell(arrival);
  }

  #keptFields(): readonly Field[] {
    return this.#kept.get(this.#legs[this.#at]?.name ?? '') ?? [];
  }
}
