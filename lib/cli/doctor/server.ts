import { isIPv4 } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type pg from 'pg';
import { promisesOf } from '../../admin/promises.ts';
import { databaseFacts } from '../../store/prisma/keys/tallies.ts';
import type { Rename } from '../../store/prisma/tables.ts';
import { CliError } from '../command.ts';
import { type Queryable, withDatabase } from '../database.ts';
import { rawClient } from '../raw-client.ts';
import { checkNamed, type Finding } from './finding.ts';

const SKEW_MS = 5000;
const WORST_SKEW_MS = 60_000;

/** Looks at the server itself: its version, its clock, and the connections that are left. */
export async function checkServer(sql: Queryable): Promise<Finding[]> {
  return [await checkVersion(sql), await checkClock(sql), await checkConnections(sql)];
}

async function checkVersion(sql: Queryable): Promise<Finding> {
  const check = checkNamed('Database');
  const { rows } = await sql.query(`SELECT current_setting('server_version_num')::int AS number,
    current_setting('server_version') AS name, pg_is_in_recovery() AS replica`);
  const { number, name, replica } = rows[0];
  const version = `PostgreSQL ${String(name).split(' ')[0]}`;
  if (number < 140_000) return check.problem(`${version} is too old.`, 'Upgrade to PostgreSQL 14 or newer.');
  if (replica)
    return check.problem(`${version} answers, but it is a replica.`, 'Let DATABASE_URL lead to the primary.');
  return check.ok(`${version} answers.`);
}

/** Keys carry the app's time and are judged by the database's (K3). */
async function checkClock(sql: Queryable): Promise<Finding> {
  const check = checkNamed('Clock');
  const before = Date.now();
  const { rows } = await sql.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms');
  const skew = Math.round(Number(rows[0].ms) - (before + Date.now()) / 2);
  const apart = `The clocks of this machine and the database are ${(Math.abs(skew) / 1000).toFixed(1)} s apart.`;
  const fix = 'Let both machines set their clocks by NTP.';
  if (Math.abs(skew) >= WORST_SKEW_MS) {
    return check.problem(`${apart} From 5 min on, keys from the future are refused.`, fix);
  }
  return Math.abs(skew) >= SKEW_MS ? check.warning(apart, fix) : check.ok('App and database tell the same time.');
}

async function checkConnections(sql: Queryable): Promise<Finding> {
  const check = checkNamed('Connections');
  const { rows } = await sql.query(`SELECT current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int AS most,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`);
  const { most, used } = rows[0];
  const says = `${used} of the server's ${most} connections are in use.`;
  // The connection that asks is counted, too. An instance of an app takes ten, unless it says otherwise.
  if (most - used >= 10) return check.ok(says);
  return check.warning(
    `${says} One more instance of the app may find none.`,
    'Lower the pools, or put PgBouncer in front.',
  );
}

const PAGE = 'docs/database-tls.md';

/** Checks that nobody on the network can read the database's traffic, or answer in its place. */
export function checkTls(sql: pg.Client, url: string): Finding {
  const check = checkNamed('TLS');
  if (isOnThisMachine(sql.host)) return check.ok('The database is on this machine: nothing passes a network.');
  const { encrypted = false, authorized = false } = socketOf(sql);
  if (!encrypted) {
    return check.warning(
      `What the database at ${sql.host} is told passes the network in plain text: its password and stored answers, too.`,
      `Add sslmode=verify-full to DATABASE_URL: ${PAGE}.`,
    );
  }
  if (!authorized) {
    return check.warning(
      `The connection to ${sql.host} is encrypted, but nobody checks whose certificate it is.`,
      `Write sslmode=verify-full in DATABASE_URL, and the provider's certificate in sslrootcert: ${PAGE}.`,
    );
  }
  const mode = (URL.canParse(url) && new URL(url).searchParams.get('sslmode')) || 'unset';
  if (mode === 'verify-full') return check.ok('The connection is encrypted, and the server proves its name.');
  return check.ok(
    `The connection is encrypted, and the server proves its name. sslmode=${mode} says less: later versions of pg will not check it.`,
  );
}

/** Reads the socket, not the URL: `ssl` may be set elsewhere. A socket without TLS has neither of its two. */
function socketOf(sql: pg.Client): Partial<Pick<TLSSocket, 'encrypted' | 'authorized'>> {
  return (sql as unknown as { connection?: { stream?: TLSSocket } }).connection?.stream ?? {};
}

/** Tells whether the host is a socket of the file system, or an address that no other machine has. */
export function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

type Mode = 'direct' | 'session' | 'transaction';

/**
 * How a connection reaches its server. A pooler tells its clients of a process that no server has. In transaction mode it
 * gives a server that is idle to somebody else, which is then seen to have been ours.
 */
async function poolingOf(sql: pg.Client, url: string): Promise<Mode> {
  const pid = async (client: pg.Client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid as number;
  const ours = await pid(sql);
  if (ours === (sql as { processID?: number | null }).processID) return 'direct';
  return await withDatabase(url, async (other) => {
    await other.query('BEGIN');
    // One that must wait for a server has none of its own.
    const isShared = (await pid(other)) === ours || (await pid(sql).catch(() => undefined)) !== ours;
    await other.query('COMMIT');
    return isShared ? 'transaction' : 'session';
  });
}

/** The app may go through any pooler. A worker that runs jobs or a relay keeps a lock of its session and listens. */
export async function checkPooler(sql: pg.Client, url: string, directUrl: string | undefined): Promise<Finding> {
  const check = checkNamed('Pooler');
  const mode = await poolingOf(sql, url);
  if (mode !== 'transaction' && !directUrl) {
    return check.ok(mode === 'direct' ? 'None: DATABASE_URL leads straight to PostgreSQL.' : 'One in session mode.');
  }
  const app =
    mode === 'transaction' ? 'DATABASE_URL goes through a pooler in transaction mode' : 'DATABASE_URL is direct';
  if (!directUrl) {
    return check.warning(
      `${app}: fine for the app, but a worker can neither listen nor keep a lock there.`,
      'Give the worker a DIRECT_URL that leads straight to PostgreSQL.',
    );
  }
  try {
    const direct = await withDatabase(directUrl, (other) => poolingOf(other, directUrl), 'DIRECT_URL');
    if (direct !== 'transaction') return check.ok(`${app}; the worker takes DIRECT_URL.`);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return check.problem(error.message, error.fix ?? '');
  }
  return check.problem(
    'DIRECT_URL goes through a pooler in transaction mode, too.',
    "Write PostgreSQL's own host and port.",
  );
}

/** Checks the server's settings of durability. Other checks tell a standby, or a read-only database. */
export async function checkDurability(
  sql: pg.Client,
  { rename = (text) => text, replicated }: { rename: Rename | undefined; replicated: readonly string[] | undefined },
): Promise<Finding[]> {
  const check = checkNamed('Durability');
  const client = rawClient(sql);
  const facts = await databaseFacts({ $queryRawUnsafe: (text) => client.$queryRawUnsafe(rename(text)) });
  const promises = promisesOf({ ...facts, isStandby: false, isReadOnly: false }, { replicated });
  return promises.map(({ level, says, fix = '' }) => (level === 'ok' ? check.ok(says) : check[level](says, fix)));
}
