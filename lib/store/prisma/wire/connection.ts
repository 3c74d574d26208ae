import { hash } from 'node:crypto';
import type { IsolationLevel } from '../../rows.ts';
import { isStalePreparedStatement } from '../errors.ts';
import { isReplicatedStatement, isUnreplicatedWarning, unreplicatedError } from '../replication.ts';
import { type Answer, SQL_LEVELS, type Statement } from '../statement.ts';
import { driverError, isAnswer } from './encoding.ts';
import { type Arrival, Flight, type Kept, type Leg } from './pipeline.ts';
import { renewStatementNames, statementName } from './user-statements.ts';

/** A connection as `pg`'s pool gives it. */
export interface ClientLike {
  /** `pg`'s pipeline mode, which takes no queries of others. */
  readonly pipeline?: boolean;
  /** The server process that the connection was told it has. `pg-native` tells none, and takes no queries of others. */
  readonly processID?: number | null;
  query(...args: never[]): unknown;
  release(broken?: unknown): void;
  on(event: 'error' | 'notice', listener: (said: object) => void): unknown;
}

/** The server's answers to a completion, and to the COMMIT behind it: `tag` is ROLLBACK where the transaction had failed. */
export interface CommitAnswer {
  last: Answer;
  commit: { tag: string } | { error: unknown };
}

const connections = new WeakMap<ClientLike, Connection>();

/** A connection of the user's pool, and the statements of the kit's that are sent on it in flights. */
export class Connection {
  readonly #client: ClientLike;
  readonly #kept: Kept = new Map();
  /** Whether the server behind it stays the same, so that it may keep prepared statements. Unknown before its first flight. */
  #isDirect: boolean | undefined;
  /** A COMMIT on it has stopped waiting for its synchronous standby. */
  #isUnreplicated = false;

  static of(client: ClientLike): Connection {
    let connection = connections.get(client);
    if (!connection) {
      connection = new Connection(client);
      connections.set(client, connection);
    }
    return connection;
  }

  private constructor(client: ClientLike) {
    this.#client = client;
    // The pool stops listening when it gives the connection away, and its user begins some moments later: a server process
    // that ends between the two would end this process. Its queries fail, and the pool drops it, without our help.
    client.on('error', () => {});
    client.on('notice', (notice) => {
      if (isUnreplicatedWarning(notice)) this.#isUnreplicated = true;
    });
  }

  /** Whether it takes queries of our own making. */
  get takesFlights(): boolean {
    const { pipeline, processID } = this.#client;
    return !pipeline && typeof processID === 'number';
  }

  /** Has the server keep a statement of the user's that comes again and again. @returns whether it does */
  keep(config: { text?: unknown; name?: string; submit?: unknown }): boolean {
    if (!this.#isDirect || typeof config.text !== 'string' || config.name !== undefined || config.submit) return false;
    const name = statementName(config.text);
    if (name === undefined) return false;
    config.name = name;
    return true;
  }

  /** The server has refused a statement that it was to keep: no more is kept on this connection. */
  forget(): void {
    this.#isDirect = false;
    renewStatementNames();
  }

  /** As `pg`'s own. */
  query(...args: never[]): Promise<unknown> {
    return this.#client.query(...args) as Promise<unknown>;
  }

  /** One statement by itself. */
  ask(statement: Statement): Promise<Answer> {
    return new Promise((told) => this.#send([this.#legOf(statement, told), ...this.#greeting()]));
  }

  /** BEGIN and `first`, in one flight. Resolves with the answer to `first`. */
  begin(level: IsolationLevel, first: readonly Statement[]): Promise<Answer> {
    return new Promise((told) => {
      const begin = controlOf(`BEGIN ISOLATION LEVEL ${SQL_LEVELS[level]}`, ignored);
      const legs = first.map((statement, at) => this.#legOf(statement, at === first.length - 1 ? told : ignored));
      this.#send([begin, ...this.#greeting(), ...legs]);
    });
  }

  /**
   * `last` and COMMIT, in one flight. Never rejects. A COMMIT that was not replicated, where it should have been, is an error.
   *
   * @param isReplicated whether it was begun with `replicateStatement`
   */
  commit(last: Statement, { isReplicated }: { isReplicated: boolean }): Promise<CommitAnswer> {
    this.#isUnreplicated = false;
    return new Promise((resolve) => {
      let answer: Answer;
      const done = (tag: string) =>
        resolve({ last: answer, commit: this.#isUnreplicated ? { error: unreplicatedError() } : { tag } });
      let tag: string | undefined;
      const checked = (arrival: Arrival) => {
        if (tag === undefined) return; // COMMIT itself has failed, and was told
        if (!('rows' in arrival && arrival.rows[0]?.isReplicated)) this.#isUnreplicated = true;
        done(tag);
      };
      const committed = (arrival: Arrival) => {
        if ('tag' in arrival) {
          tag = arrival.tag;
          return isReplicated ? undefined : done(tag);
        }
        const lost = (error: unknown) => resolve({ last: answer, commit: { error: driverError(error) } });
        if (!isAnswer(arrival.error)) return lost(arrival.error);
        // Refused: `last`, and then the server has not even looked at COMMIT, or COMMIT. The transaction may be open.
        this.query({ text: 'ROLLBACK' } as never).then(() => {
          if ('rows' in answer) return lost(arrival.error);
          // A pooler's word that it has lost its server: COMMIT may have arrived before.
          if (/^(08|58)/.test((arrival.error as { code: string }).code)) return lost(new Error('Lost by the pooler.'));
          resolve({ last: answer, commit: { tag: 'ROLLBACK' } });
        }, lost);
      };
      const check = isReplicated ? [{ ...isReplicatedStatement, tell: checked }] : [];
      this.#send([this.#legOf(last, (told) => (answer = told)), controlOf('COMMIT', committed), ...check]);
    });
  }

  #send(legs: Leg[]): void {
    try {
      this.query(new Flight(legs, this.#kept) as never);
    } catch (error) {
      for (const leg of legs) leg.tell({ error });
    }
  }

  /**
   * On a connection that is not known yet: asks which process the server is. A pooler such as PgBouncer in transaction mode
   * gives each transaction another server, which does not know what was prepared on the one before, and tells its clients
   * of a process that no server has.
   */
  #greeting(): Leg[] {
    if (this.#isDirect !== undefined) return [];
    const tell = (arrival: Arrival) => {
      if ('rows' in arrival) this.#isDirect = arrival.rows[0]?.pid === this.#client.processID;
    };
    return [{ text: 'SELECT pg_backend_pid() AS pid', values: [], tell }];
  }

  /** A statement of the kit's, which the server keeps where it can. */
  #legOf({ text, values, mayWait }: Statement, told: (answer: Answer) => void): Leg {
    const tell = (arrival: Arrival) => {
      if ('rows' in arrival) return told(arrival);
      const error = driverError(arrival.error);
      // It has lost what it kept: to DISCARD ALL, or it is not the same server after all.
      if (isStalePreparedStatement(error)) this.#isDirect = false;
      told({ error });
    };
    return { text, values, mayWait, name: this.#isDirect ? nameOf(text) : undefined, tell };
  }
}

const ignored = () => {};

/** BEGIN or COMMIT. Not kept: a server that has forgotten what COMMIT is would leave the transaction open. */
const controlOf = (text: string, tell: Leg['tell']): Leg => ({
  text,
  values: [],
  mayWait: false,
  name: undefined,
  isControl: true,
  tell,
});

const names = new Map<string, string>();

/** By its text: two versions of the kit in one process do not take each other's statements for their own. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `oncekit_${hash('sha256', text).slice(0, 16)}`;
    names.set(text, name);
  }
  return name;
}
