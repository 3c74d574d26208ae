import { hash } from 'node:crypto';
import type { IsolationLevel } from '../../rows.ts';
import { type PrismaClientLike, queriesBy, transactBy } from '../client.ts';
import { driverError, isAnswer, isStalePreparedStatement } from '../errors.ts';
import { isReplicatedStatement, unreplicatedError } from '../replication.ts';
import { rowsOf, SQL_LEVELS, type Statement } from '../statement.ts';
import type { ClientLike } from './driver.ts';
import { PipelinedQuery } from './pipeline.ts';
import { renewStatementNames, statementName } from './user-statements.ts';

type Pipeline = ConstructorParameters<typeof PipelinedQuery>;
type PipelinedStatement = Pipeline[0][number];
type StatementResult = Parameters<PipelinedStatement['onResult']>[0];
type StatementAnswer = Parameters<typeof rowsOf>[0];

/** The server's answers to a completion, and to the COMMIT behind it: `tag` is ROLLBACK where the transaction had failed. */
interface CommitAnswer {
  last: StatementAnswer;
  commit: { tag: string } | { error: unknown };
}

const connections = new WeakMap<ClientLike, TrackedConnection>();

/** A connection of the user's pool, on which the kit sends its statements in pipelines. */
export class TrackedConnection {
  readonly #client: ClientLike;
  readonly #prepared: Pipeline[1] = new Map();
  /** True if the server behind it stays the same, so that it may keep prepared statements. Unknown before its first pipeline. */
  #isDirect: boolean | undefined;
  /** A COMMIT on it has stopped waiting for its synchronous standby. */
  #isUnreplicated = false;

  static of(client: ClientLike): TrackedConnection {
    const connection = connections.get(client) ?? new TrackedConnection(client);
    connections.set(client, connection);
    return connection;
  }

  private constructor(client: ClientLike) {
    this.#client = client;
    // The pool stops listening when it gives the connection away, and its user begins some moments later: a server process
    // that ends between the two would end this process. Its queries fail, and the pool drops it, without our help.
    client.on('error', () => {});
    // PostgreSQL's warning that a COMMIT stands here, and perhaps nowhere else: somebody has cancelled its wait. Told by the name of
    // the function that gives it, for its words are in the server's language, and its code is that of any warning.
    client.on('notice', (notice: { routine?: string }) => {
      if (notice.routine === 'SyncRepWaitForLSN') this.#isUnreplicated = true;
    });
  }

  /** True if it takes custom queries. */
  get takesPipelines(): boolean {
    const { pipeline, processID } = this.#client;
    return !pipeline && typeof processID === 'number';
  }

  /**
   * Has the server prepare a statement of the user's that comes again and again. Only one with values: `pg` sends a text
   * without any by the simple protocol, in which it may hold several commands, and whatever cannot be prepared.
   *
   * @returns whether it does
   */
  prepare(config: { text?: unknown; values?: readonly unknown[]; name?: string; submit?: unknown }): boolean {
    if (!this.#isDirect || typeof config.text !== 'string' || config.name !== undefined || config.submit) return false;
    if (!config.values?.length) return false;
    const name = statementName(config.text);
    if (name === undefined) return false;
    config.name = name;
    return true;
  }

  /** Prepares no more statements on this connection: the server has refused one that it was to keep. */
  stopPreparing(): void {
    this.#isDirect = false;
    renewStatementNames();
  }

  /** Sends a query of the user's, as `pg`'s own `query` does. */
  query(...args: never[]): Promise<unknown> {
    return this.#client.query(...args) as Promise<unknown>;
  }

  /** Sends one statement by itself. */
  ask(statement: Statement): Promise<StatementAnswer> {
    return new Promise((resolve) => this.#send([this.#pipelined(statement, resolve), ...this.#identifyServer()]));
  }

  /** Sends BEGIN and `first` in one pipeline. Resolves with the answer to the last of `first`. */
  begin(level: IsolationLevel, first: readonly Statement[]): Promise<StatementAnswer> {
    return new Promise((resolve) => {
      const begin = controlStatement(`BEGIN ISOLATION LEVEL ${SQL_LEVELS[level]}`, ignored);
      const statements = first.map((statement, at) =>
        this.#pipelined(statement, at === first.length - 1 ? resolve : ignored),
      );
      this.#send([begin, ...this.#identifyServer(), ...statements]);
    });
  }

  /**
   * Sends `last` and COMMIT in one pipeline. Never rejects. A COMMIT that was not replicated, where it should have been, is
   * an error.
   *
   * @param isReplicated whether it was begun with `replicateStatement`
   */
  commit(last: Statement, { isReplicated }: { isReplicated: boolean }): Promise<CommitAnswer> {
    this.#isUnreplicated = false;
    return new Promise((resolve) => {
      let answer: StatementAnswer;
      const done = (tag: string) =>
        resolve({ last: answer, commit: this.#isUnreplicated ? { error: unreplicatedError() } : { tag } });
      let tag: string | undefined;
      const checked = (result: StatementResult) => {
        if (tag === undefined) return; // COMMIT itself has failed, and has been answered
        if (!('rows' in result && result.rows[0]?.isReplicated)) this.#isUnreplicated = true;
        done(tag);
      };
      const committed = (result: StatementResult) => {
        if ('tag' in result) {
          tag = result.tag;
          return isReplicated ? undefined : done(tag);
        }
        const lost = (error: unknown) => resolve({ last: answer, commit: { error: driverError(error) } });
        if (!isAnswer(result.error)) return lost(result.error);
        // Refused: `last`, and then the server has not even looked at COMMIT, or COMMIT. The transaction may be open.
        this.query({ text: 'ROLLBACK' } as never).then(() => {
          if ('rows' in answer) return lost(result.error);
          // A pooler says so that it has lost its server: COMMIT may have arrived before.
          if (/^(08|58)/.test((result.error as { code: string }).code)) return lost(new Error('Lost by the pooler.'));
          resolve({ last: answer, commit: { tag: 'ROLLBACK' } });
        }, lost);
      };
      const check = isReplicated ? [{ ...isReplicatedStatement, onResult: checked }] : [];
      this.#send([this.#pipelined(last, (given) => (answer = given)), controlStatement('COMMIT', committed), ...check]);
    });
  }

  #send(statements: PipelinedStatement[]): void {
    try {
      this.query(new PipelinedQuery(statements, this.#prepared) as never);
    } catch (error) {
      for (const statement of statements) statement.onResult({ error });
    }
  }

  /**
   * Asks once per connection which process the server is. A pooler such as PgBouncer in transaction mode gives each
   * transaction another server, which does not know what was prepared on the one before, and names a process to its clients
   * that no server has.
   */
  #identifyServer(): PipelinedStatement[] {
    if (this.#isDirect !== undefined) return [];
    const onResult = (result: StatementResult) => {
      if ('rows' in result) this.#isDirect = result.rows[0]?.pid === this.#client.processID;
    };
    return [{ text: 'SELECT pg_backend_pid() AS pid', values: [], onResult }];
  }

  /** A statement of the kit's, which the server prepares where it can. */
  #pipelined({ text, values, mayWait }: Statement, resolve: (answer: StatementAnswer) => void): PipelinedStatement {
    const onResult = (result: StatementResult) => {
      if ('rows' in result) return resolve(result);
      const error = driverError(result.error);
      // The server has lost its prepared statements: to DISCARD ALL, or it is not the same server after all.
      if (isStalePreparedStatement(error)) this.#isDirect = false;
      resolve({ error });
    };
    return { text, values, mayWait, name: this.#isDirect ? statementNameOf(text) : undefined, onResult };
  }
}

const ignored = () => {};

/** BEGIN or COMMIT. Not kept: a server that has forgotten what COMMIT is would leave the transaction open. */
const controlStatement = (text: string, onResult: PipelinedStatement['onResult']): PipelinedStatement => ({
  text,
  values: [],
  isControl: true,
  onResult,
});

const names = new Map<string, string>();

/** Depends on the text: two versions of the kit in one process do not take each other's statements for their own. */
function statementNameOf(text: string): string {
  const name = names.get(text) ?? `oncekit_${hash('sha256', text).slice(0, 16)}`;
  names.set(text, name);
  return name;
}

/**
 * A connection as a client for the kit's own statements, past Prisma, whose share of them would be the larger one. They are
 * sent one after the other: `pg` queues no others. A statement that the server has forgotten has done nothing, and is sent
 * again; in a transaction, which it has aborted, with all before it.
 */
export function clientOn(connection: TrackedConnection): PrismaClientLike {
  const ask = async (statement: Statement) => rowsOf(await connection.ask(statement));
  const queries = queriesBy((statement) => again(() => ask(statement)));
  const inside = queriesBy(ask);
  return {
    ...queries,
    $transaction: (run, { isolationLevel = 'ReadCommitted' } = {}) =>
      again(() => transactBy(inside, `BEGIN ISOLATION LEVEL ${SQL_LEVELS[isolationLevel]}`, run)),
  };
}

const again = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error) => {
    if (!isStalePreparedStatement(error)) throw error;
    return work();
  });
