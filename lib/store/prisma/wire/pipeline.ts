import { isAnswer } from '../errors.ts';
import type { Statement } from '../statement.ts';
import { parserOf, toWire, WireWriter } from './encoding.ts';

/** The server's answer to one statement of a pipeline. `error`: as `pg` gives it. */
type StatementResult = { rows: Row[]; tag: string } | { error: unknown };

type Row = Record<string, unknown>;

interface Field {
  name: string;
  dataTypeID: number;
}

/** `pg`'s connection, as far as a custom query may use it. `pg-cursor` is one such query. */
interface ConnectionLike {
  readonly stream: { write(bytes: Uint8Array): unknown; destroy(): void };
}

/** The statements that a connection's server has prepared, by their name, with the columns of their rows. */
type PreparedStatements = Map<string, readonly Field[]>;

/** One statement of a pipeline. */
interface PipelinedStatement extends Statement {
  /** The name under which the server may prepare it; none where the next transaction may meet another server. */
  name?: string | undefined;
  /** True if it answers in no columns that would have to be described. */
  isControl?: boolean;
  /** Called once. A statement that was not executed gets the error of the one before it. Must not throw. */
  onResult(result: StatementResult): void;
}

/**
 * Sends several statements as one query of `pg`'s: in one write, answered in one read, and none is executed after one that
 * has failed. So a COMMIT that follows another statement commits nothing without it.
 *
 * A prepared statement is neither sent nor described again: planning the kit's statements costs the server several times
 * what executing them does.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export class PipelinedQuery {
  readonly #statements: readonly PipelinedStatement[];
  readonly #values: readonly (string | Buffer | null)[][];
  readonly #prepared: PreparedStatements;
  /** How many have their result. */
  #at = 0;
  #rows: Row[] = [];
  /** The answer to the last statement. Outside a transaction it is committed only once the server is ready for another. */
  #last: StatementResult | undefined;
  #fields: readonly Field[] = [];
  #stream: ConnectionLike['stream'] | undefined;

  constructor(statements: readonly PipelinedStatement[], prepared: PreparedStatements) {
    this.#statements = statements;
    // Before anything is written: half a pipeline would leave the connection without an answer.
    this.#values = statements.map(({ values }) => values.map(toWire));
    this.#prepared = prepared;
  }

  submit(connection: ConnectionLike): void {
    this.#stream = connection.stream;
    this.#fields = this.#knownFields();
    const out = new WireWriter();
    this.#statements.forEach(({ name, text, mayWait, isControl }, at) => {
      const isPrepared = name !== undefined && this.#prepared.has(name);
      // It may be there all the same: parsed in a pipeline that has failed since. Closing a missing one is no error.
      if (name !== undefined && !isPrepared) out.close(name);
      if (mayWait) out.flush(); // the server keeps its answers to itself until it is asked for them, or through
      if (!isPrepared) out.parse(name ?? '', text);
      out.bind(name ?? '', this.#values[at] ?? []);
      if (!isPrepared && !isControl) out.describe();
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
    const name = this.#statements[this.#at]?.name;
    if (name !== undefined) this.#prepared.set(name, this.#fields);
    const result = { rows: this.#rows, tag: text };
    this.#rows = [];
    if (this.#at === this.#statements.length - 1) {
      this.#last = result;
      return;
    }
    this.#resolve(result);
    this.#fields = this.#knownFields();
  }

  handleReadyForQuery(): void {
    if (this.#last) this.#resolve(this.#last);
    // Always called: `pg` has put the end of its own timer there. The error is made only where somebody gets it, for its
    // stack costs as much as a dozen of these lines.
    this.callback(
      this.#at < this.#statements.length ? new Error('The server was ready before it had answered.') : undefined,
    );
  }

  /** The server's error for the statement that is under way, or the connection's end. */
  handleError(error: unknown): void {
    this.callback(error);
  }

  /** Wrapped by `pg`, which calls it where it gives up by itself (`query_timeout`). */
  callback = (error: unknown): void => {
    // Nobody waits for the answer any more, but the server may still claim, or commit: nothing must follow it on this
    // connection as if it had not.
    if (this.#at < this.#statements.length && !isAnswer(error)) this.#stream?.destroy();
    while (this.#at < this.#statements.length) this.#resolve({ error });
  };

  #resolve(result: StatementResult): void {
    this.#statements[this.#at++]?.onResult(result);
  }

  #knownFields(): readonly Field[] {
    return this.#prepared.get(this.#statements[this.#at]?.name ?? '') ?? [];
  }
}
