import type { Statement } from './statement.ts';
import { isAnswer, parserOf, toWire } from './wire.ts';

/** What the server said to one statement of a flight. `error`: as `pg` gives it. */
export type Arrival = { rows: Row[]; tag: string } | { error: unknown };

type Row = Record<string, unknown>;

interface Field {
  name: string;
  dataTypeID: number;
}

/** `pg`'s connection, as far as a query of one's own may use it. `pg-cursor` is one such query. */
interface ConnectionLike {
  readonly stream: { cork?(): void; uncork?(): void; destroy(): void };
  close(statement: { type: 'S'; name: string }): void;
  parse(statement: { name?: string | undefined; text: string }): void;
  bind(parameters: { statement?: string | undefined; values: unknown[] }): void;
  describe(portal: { type: 'P' }): void;
  execute(portal: object): void;
  flush(): void;
  sync(): void;
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
  readonly #values: readonly unknown[][];
  readonly #kept: Kept;
  /** How many have been told. */
  #at = 0;
  #rows: Row[] = [];
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
    connection.stream.cork?.();
    try {
      this.#legs.forEach(({ name, text, mayWait, isControl }, at) => {
        const isKept = name !== undefined && this.#kept.has(name);
        // It may be there all the same: parsed in a flight that has failed since. To close what is not there is no error.
        if (name !== undefined && !isKept) connection.close({ type: 'S', name });
        if (mayWait) connection.flush(); // the server keeps its answers to itself until it is asked for them, or through
        if (!isKept) connection.parse({ name, text });
        connection.bind({ statement: name, values: this.#values[at] as unknown[] });
        if (!isKept && !isControl) connection.describe({ type: 'P' });
        connection.execute({});
      });
      connection.sync();
    } finally {
      connection.stream.uncork?.();
    }
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
    this.#tell({ rows: this.#rows, tag: text });
    this.#rows = [];
    this.#fields = this.#keptFields();
  }

  handleReadyForQuery(): void {
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
