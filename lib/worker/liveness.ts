import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';

/** Only jobs held under such a name are ever unlocked: any other runner of jobs shows no presence and may well live. */
const PREFIX = 'oncekit-';

/** How often in a row a worker must be found missing. One whose connection broke comes back within a pass. */
const SIGHTINGS = 3;

/**
 * A lock of the session, so that it ends with the process, however that ends. Where the whole machine goes, nobody
 * closes the connection: the server's keepalives then notice within 25 s instead of its two hours.
 */
const SHOW = `SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
  set_config('tcp_keepalives_count', '3', false), set_config('idle_session_timeout', '0', false),
  pg_advisory_lock(hashtextextended('oncekit.worker ' || $1, 0)), pg_backend_pid() AS pid`;

// A connection that has fallen silent is still a session to the server, which holds the lock until its keepalives fail. By
// its lock, too: behind a failover the same process may be somebody else's.
const END_FORMER = `SELECT pg_terminate_backend(pid) FROM pg_locks
 WHERE pid = $2 AND locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
   AND (classid::bigint << 32) | objid::bigint = hashtextextended('oncekit.worker ' || $1, 0)`;

// Shared, so that two who look at once do not take one another for the worker they look for.
const IS_GONE = "pg_try_advisory_xact_lock_shared(hashtextextended('oncekit.worker ' || id, 0))";

const FIND_MISSING = `WITH holders AS MATERIALIZED (
  SELECT DISTINCT locked_by AS id FROM graphile_worker.jobs WHERE locked_by LIKE '${PREFIX}%' AND locked_by <> $1
) SELECT id FROM holders WHERE ${IS_GONE}`;

/**
 * Looks once more, and keeps what it took until the jobs are free: a worker that comes back in this moment waits for
 * its lock, instead of being shown to live and losing its jobs all the same. The notification, graphile-worker's own for
 * a new job, saves the wait for the next poll.
 */
const UNLOCK = `SELECT array_agg(id) AS ids, graphile_worker.force_unlock_workers(array_agg(id)),
  pg_notify('jobs:insert', '{"count":100}') FROM unnest($1::text[]) AS id WHERE ${IS_GONE}`;

/**
 * Shows to other workers that this one lives, and frees the jobs of those that do not. graphile-worker marks a job with
 * the worker that runs it; a killed worker's mark stays, and by itself is believed for four hours.
 *
 * The interleaving to prevent: A takes a job and lives; B thinks that A is dead and runs the job a second time. So A
 * shows its lock before it takes its first job and takes none while it does not hold it, and B asks for A's lock, never
 * for how long A has been silent: a paused process (SIGSTOP) keeps its jobs. When the *connection* breaks while A lives,
 * A has until the third sighting to show itself again. After that its job may run twice: job handlers are run at least
 * once, as with every runner of jobs.
 *
 * Needs a connection of its own: no pooler in transaction mode.
 */
export class Presence {
  readonly workerId = PREFIX + randomUUID();
  readonly #pool: Pool;
  #client: PoolClient | undefined;
  /** The server's process that has last held the lock. */
  #pid: number | undefined;
  /** How often in a row each was found missing. */
  #missing = new Map<string, number>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get isShown(): boolean {
    return this.#client !== undefined;
  }

  /** Resolves when others can see this worker. Rejects when the database does not answer. */
  async show(): Promise<void> {
    if (this.#client) return;
    // Sightings before an outage prove nothing: it took everybody's locks.
    this.#missing.clear();
    const client = await this.#pool.connect();
    try {
      if (this.#pid !== undefined) await client.query(END_FORMER, [this.workerId, this.#pid]);
      this.#pid = (await client.query(SHOW, [this.workerId])).rows[0].pid;
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#client = client;
    for (const end of ['error', 'end'] as const) client.once(end, () => this.#lose(client));
  }

  /**
   * One pass: shows this worker again if its connection broke, and frees the jobs of every worker that was missing in
   * this pass and the two before it. Returns the names of those.
   */
  async beat(): Promise<string[]> {
    await this.show();
    const client = this.#client as PoolClient;
    try {
      const { rows } = await client.query(FIND_MISSING, [this.workerId]);
      this.#missing = new Map(rows.map(({ id }) => [id, (this.#missing.get(id) ?? 0) + 1]));
      const dead = [...this.#missing].filter(([, sightings]) => sightings >= SIGHTINGS).map(([id]) => id);
      if (dead.length === 0) return [];
      return (await client.query(UNLOCK, [dead])).rows[0].ids ?? [];
    } catch (error) {
      this.#lose(client);
      throw error;
    }
  }

  /** From here on others free what is still held under this name. */
  end(): void {
    if (this.#client) this.#lose(this.#client);
  }

  #lose(client: PoolClient): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.release(true);
  }
}
