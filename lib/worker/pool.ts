import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { moment, settleWithin } from '../core/wait.ts';
import { isAnswer } from '../store/prisma/errors.ts';
import { withTimeout } from '../store/prisma/timeouts.ts';

/** How long a statement of the kit's or of graphile-worker's may take, in milliseconds. */
const STATEMENT_MS = 5000;

/** How long the end of connections is waited for, in milliseconds: a silent server closes nothing. */
const GOODBYE_MS = 1000;

/** How long a statement may take that is sent from here, where that is more. */
const statementLimit = new AsyncLocalStorage<number>();

/** Runs something whose statements may take longer than the worker's own: a job handler, a migration. */
export function withStatementLimit<R>(statementMs: number, run: () => R): R {
  return statementLimit.run(statementMs, run);
}

/**
 * graphile-worker's statements that end a job, by their names: a second time they change nothing. It ends its whole runner
 * when one of them fails, whatever it says of retries.
 */
const ENDS_JOB = /^(complete|fail)_jobs?(_q)?\//;

// Only the process that the connection itself is known by: through a pooler, whose ids are its own, waiting is taken for silence.
const WAITS_FOR_LOCK = 'SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits';

type Connected = Parameters<pg.Pool['connect']>[0];

/**
 * The worker's connections, none of which may be silent for long: without an answer in time one is destroyed, and with it
 * those that nobody uses at the moment, which most likely share its fate. `pg`'s own `query_timeout` would give the question
 * up and leave the connection as it is, and graphile-worker gives back to the pool whatever it was given.
 */
class BoundedPool extends pg.Pool {
  readonly #unused = new Set<pg.PoolClient>();
  readonly #statementMs: number;

  constructor(config: pg.PoolConfig, statementMs: number) {
    super(config);
    this.#statementMs = statementMs;
    this.on('acquire', (client) => this.#unused.delete(client));
    this.on('release', (_, client) => this.#unused.add(client));
    this.on('remove', (client) => this.#unused.delete(client));
    // A broken connection is reported by the query that needs it; without listeners it would end the process.
    this.on('error', () => {});
    this.on('connect', (client) => {
      client.on('error', () => {});
      this.#bound(client);
    });
  }

  /** graphile-worker gives its listener back twice where it stops before LISTEN is answered; nobody hears the second error. */
  override connect(): Promise<pg.PoolClient>;
  override connect(connected: Connected): void;
  override connect(connected?: Connected): Promise<pg.PoolClient> | undefined {
    if (!connected) return super.connect();
    super.connect((error, client, release) => {
      let isReleased = false;
      connected(error, client, (why) => {
        if (!isReleased) release(why);
        isReleased = true;
      });
    });
    return undefined;
  }

  #bound(client: pg.PoolClient): void {
    let answered: (() => void) | undefined;
    const settle = () => {
      answered?.();
      answered = undefined;
    };
    client.on('drain', settle).on('end', settle);
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const [config] = args as [{ name?: string }];
      const endsJob = ENDS_JOB.test(config.name ?? '');
      if (!answered) {
        const all = moment();
        answered = all.reach;
        void this.#watch(client, all.reached, { endsJob, isOver: () => answered !== all.reach });
      }
      const answer = query(...args);
      if (!(answer instanceof Promise && endsJob)) return answer;
      return answer.catch((error) => {
        if (isAnswer(error)) throw error;
        return (this.query as (...args: unknown[]) => unknown)(...args);
      });
    }) as pg.PoolClient['query'];
  }

  /**
   * Destroys the connection where it is not answered in time. Whoever ends a job may have to wait for its row, as while a
   * transaction stays open that adds another job under its key: on a connection that is not silent the server says so.
   */
  async #watch(
    client: pg.PoolClient,
    answered: Promise<void>,
    what: { endsJob: boolean; isOver: () => boolean },
  ): Promise<void> {
    try {
      await withTimeout(answered, statementLimit.getStore() ?? this.#statementMs);
    } catch (late) {
      const why = (late as Error).message;
      for (const silent of this.#unused) destroy(silent, why);
      const waits = what.endsJob && (await this.#waitsForLock(client));
      if (waits || what.isOver()) return await this.#watch(client, answered, what);
      destroy(client, why);
    }
  }

  async #waitsForLock(client: pg.PoolClient): Promise<boolean> {
    const { processID } = client as unknown as { processID: number };
    const asked = this.query<{ waits: boolean }>(WAITS_FOR_LOCK, [processID]);
    return await asked.then(({ rows: [row] }) => row?.waits ?? false).catch(() => false);
  }
}

/** Its queries reject, its user hears an error, and the pool that it is given back to drops it. */
function destroy(client: pg.PoolClient, why: string): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(error: Error): void } } };
  connection.stream.destroy(new Error(why)); // one each: the pool writes the client into it
}

/**
 * One connection for each running job, and for listening, for the presence, for asking and for what is left. While a runner that has
 * ended finishes its jobs, those and its presence come besides.
 */
export function openPool(connectionString: string, concurrency: number, statementMs = STATEMENT_MS): pg.Pool {
  const config = { connectionString, max: 2 * concurrency + 5, connectionTimeoutMillis: 5000, keepAlive: true };
  return new BoundedPool(config, statementMs);
}

/** Ends a pool or a connection. Never throws. A job that does not end keeps its connection: it must not keep the worker. */
export async function endWithin(connections: Pick<pg.Pool, 'end'>): Promise<void> {
  const ended = connections.end().catch(() => {});
  await settleWithin(ended, GOODBYE_MS, () => {});
}
