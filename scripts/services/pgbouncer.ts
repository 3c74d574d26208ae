/** A real PgBouncer for the tests, without Docker: what stands between an app and PostgreSQL in many a production. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { thePgBouncer } from './pgbouncer-install.ts';
import { freePort } from './ports.ts';

export interface PgBouncer {
  /** The same database through it. */
  readonly url: string;
  /** Stops it, with every connection that goes through it. */
  close(): Promise<void>;
}

/**
 * Starts one in transaction mode in front of a database: a server connection is a client's for one transaction, then the
 * next one's. It ends with this process, unless that is killed.
 *
 * @param connections how many server connections it opens at most
 * @param settings lines of its file, such as `query_wait_timeout = 1`
 */
export async function startPgBouncer(
  databaseUrl: string,
  { connections, settings = [] }: { connections: number; settings?: readonly string[] },
): Promise<PgBouncer> {
  const { path, env } = await thePgBouncer();
  const folder = await mkdtemp(join(tmpdir(), 'oncekit-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  // It refuses to run as root, and reads the file before it turns into somebody else.
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  if (asNobody.length > 0) await chmod(folder, 0o755);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const lines = [...settingsOf(databaseUrl, port, connections), ...settings, ''];
    await writeFile(file, lines.join('\n'), { mode: asNobody.length > 0 ? 0o644 : 0o600 });
    const child = spawn(path, [...asNobody, file], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    try {
      await untilReady(child);
    } catch (error) {
      // Somebody took the port since we looked.
      if (attempt < 10 && /already in use/i.test(String(error))) continue;
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return {
      url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port), password: '' }).href,
      close: async () => {
        if (child.exitCode === null && child.signalCode === null) {
          const gone = once(child, 'exit');
          child.kill('SIGKILL'); // it keeps nothing
          await gone;
        }
        await rm(folder, { recursive: true, force: true });
      },
    };
  }
}

/** Lets everybody in: it listens on this machine alone. `server_reset_query` has no say in transaction mode. */
function settingsOf(databaseUrl: string, port: number, connections: number): string[] {
  const target = new URL(databaseUrl);
  const part = (name: string, value: string) =>
    value ? ` ${name}='${decodeURIComponent(value).replace(/'/g, "''")}'` : '';
  const database =
    part('host', target.hostname) +
    part('port', target.port || '5432') +
    part('user', target.username || 'postgres') +
    part('password', target.password);
  return [
    '[databases]',
    `* =${database}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${connections}`,
    'max_client_conn = 200',
    // `pg` sets these when it connects, and a pooler cannot keep them.
    'ignore_startup_parameters = extra_float_digits',
  ];
}

async function untilReady(child: ChildProcess): Promise<void> {
  const orphaned = () => child.kill('SIGKILL');
  process.once('exit', orphaned);
  child.once('exit', () => process.off('exit', orphaned));
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => reject(new Error(`pgbouncer does not start:\n${lines.join('\n')}`)));
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > 50) lines.shift();
      if (/process up/.test(line)) resolve();
    });
  });
}
