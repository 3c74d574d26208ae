/** Servers that a test may break: each with data of its own, which is deleted when it is closed. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from './migrate.ts';
import { type Postgres, startPostgres } from './postgres.ts';

export interface ScratchPostgres extends Postgres {
  /** Restarts it on the same port, with other settings where some are given. */
  restart(more?: readonly string[]): Promise<void>;
  /** As `kill` would: SIGINT shuts it down at once, SIGQUIT as a crash. Resolves when it has ended. */
  signal(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Stops it, and deletes its data. */
  close(): Promise<void>;
}

let count = 0;

/**
 * Starts a server of its own. Several processes may have some each.
 *
 * @param more settings, such as `max_connections=5`
 * @param copyOf the data folder of a stopped server
 */
export async function scratchPostgres(more: readonly string[] = [], copyOf?: string): Promise<ScratchPostgres> {
  const name = `scratch-${process.pid}-${++count}` as const;
  let server = await startPostgres({ name, more, ...(copyOf === undefined ? {} : { copyOf }) });
  const home = path.dirname(server.dataDir);
  await removeLeftovers(path.dirname(home));
  const port = Number(new URL(server.url).port);
  return {
    ...server,
    stop: () => server.stop(),
    async signal(signal) {
      const pidFile = path.join(server.dataDir, 'postmaster.pid');
      process.kill(Number.parseInt(await readFile(pidFile, 'utf8'), 10), signal);
      while (existsSync(pidFile)) await sleep(10);
    },
    async restart(other = more) {
      await server.stop();
      server = await startPostgres({ name, port, more: other });
    },
    async close() {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** A primary with the kit's tables, and a streaming standby of the name `standby`. */
export interface Pair {
  primary: ScratchPostgres;
  standby: ScratchPostgres;
  /** On the primary, as its superuser. */
  sql: pg.Client;
  /** Freezes the process on the standby that receives, or lets it go on. */
  freezeStandby(): Promise<void>;
  thawStandby(): Promise<void>;
  close(): Promise<void>;
}

/** Starts both, the primary with the settings that are given. Resolves once the standby streams. */
export async function scratchPair(more: readonly string[] = []): Promise<Pair> {
  const primary = await scratchPostgres(['wal_level=replica']);
  await migrate(primary.url);
  await primary.stop();
  await writeFile(path.join(primary.dataDir, 'standby.signal'), '');
  const { port, username, password } = new URL(primary.url);
  const conninfo = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=standby`;
  const standbySettings = [`primary_conninfo=${conninfo}`, 'wal_receiver_status_interval=1'];
  // The copy holds the signal; the primary must not.
  const standby = await scratchPostgres(standbySettings, primary.dataDir);
  await rm(path.join(primary.dataDir, 'standby.signal'));
  await primary.restart(['wal_level=replica', ...more]);
  const sql = await connected(primary.url);
  const receiver = await connected(standby.url);
  const pid = async () => {
    const { rows } = await receiver.query('SELECT pid FROM pg_stat_wal_receiver');
    return rows[0]?.pid as number | undefined;
  };
  let frozen: number | undefined;
  const thaw = async () => {
    if (frozen !== undefined) process.kill(frozen, 'SIGCONT');
    frozen = undefined;
  };
  while (!(await streams(sql)));
  return {
    primary,
    standby,
    sql,
    async freezeStandby() {
      frozen = await pid();
      process.kill(frozen as number, 'SIGSTOP');
    },
    thawStandby: thaw,
    async close() {
      await thaw();
      await Promise.all([sql.end(), receiver.end()].map((ended) => ended.catch(() => {})));
      await standby.close();
      await primary.close();
    },
  };
}

async function streams(sql: pg.Client): Promise<boolean> {
  const { rowCount } = await sql.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`);
  return rowCount === 1;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // it goes when its server is stopped
  await client.connect();
  return client;
}

/** Those of processes that were killed. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const pid = /^scratch-(\d+)-\d+$/.exec(entry.replace(/^postgres-/, ''))?.[1];
    if (pid && Number(pid) !== process.pid && !(await isAlive(pid))) {
      await rm(path.join(folder, entry), { recursive: true, force: true });
    }
  }
}

async function isAlive(pid: string): Promise<boolean> {
  if (existsSync('/proc/self')) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
  try {
    return process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
