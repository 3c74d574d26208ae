import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildApp, generateClient } from './build.ts';
import { portFrom, refuseTakenPort, untilAnswering } from './ports.ts';
import { type SupervisedChild, spawnChild } from './process.ts';
import { loadSecrets, type Secrets } from './secrets.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NEXT = 'node_modules/next/dist/bin/next';
const dev = process.argv.includes('--dev');
const say = (line: string) => console.log(line);

/** What has been started, in order; stopped from the front, so that the database goes last. */
const running: { stop(): Promise<void> }[] = [];
const stopping = new AbortController();

async function demo(): Promise<void> {
  const port = portFrom('PORT', 3000);
  const proxyPort = portFrom('PROXY_PORT', port + 1);
  // This machine only, unless asked: the demo's passwords and faults are not made for a network.
  const host = process.env.HOST || '127.0.0.1';
  await refuseTakenPort(port, host, 'PORT');
  await refuseTakenPort(proxyPort, '127.0.0.1', 'PROXY_PORT');

  const secrets = loadSecrets();
  await (dev ? generateClient({ log: say, signal: stopping.signal }) : buildApp({ log: say, signal: stopping.signal }));
  stopping.signal.throwIfAborted();
  const databaseUrl = process.env.DATABASE_URL || (await startDatabase());
  await prepareDatabase(databaseUrl);
  stopping.signal.throwIfAborted();

  startProcesses({ ...secrets, DATABASE_URL: databaseUrl }, { host, port, proxyPort });
  await untilAnswering(`http://${reachable(host)}:${port}/api/health`, { signal: stopping.signal });
  tell(port, proxyPort, secrets);
}

async function startDatabase(): Promise<string> {
  say('Starting PostgreSQL …');
  const { startPostgres } = await import('./postgres.ts');
  const database = await startPostgres({ name: 'demo' });
  running.push(database);
  return database.url;
}

/** Imported late: both need the generated client, which `generateClient` may only just have written. */
async function prepareDatabase(url: string): Promise<void> {
  const { migrate } = await import('./migrate.ts');
  const { seed } = await import('./seed.ts');
  await migrate(url);
  await seed(url);
}

function startProcesses(env: Record<string, string>, ports: { host: string; port: number; proxyPort: number }): void {
  const pidFile = join(ROOT, '.data', 'app.pid');
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const start = (name: string, args: string[], more: Record<string, string>, pidFile?: string) => {
    const child: SupervisedChild = spawnChild({
      name,
      command: process.execPath,
      args,
      env: { NEXT_TELEMETRY_DISABLED: '1', ...more },
      cwd: ROOT,
      restart: true,
      onLine: (line) => say(`${name.padEnd(5)} | ${line}`),
      log: say,
      ...(pidFile ? { pidFile } : {}),
    });
    running.unshift(child);
  };
  const { host, port, proxyPort } = ports;
  const proxyEnv = {
    APP_HOST: reachable(host),
    PORT: String(port),
    PROXY_PORT: String(proxyPort),
    APP_PID_FILE: pidFile,
  };
  start('proxy', ['--import', 'tsx', 'scripts/fault-proxy.ts'], proxyEnv);
  start('app', [NEXT, dev ? 'dev' : 'start', '-H', host, '-p', String(port)], env, pidFile);
}

/** Where a server that listens on `host` is found from here. */
function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

function tell(port: number, proxyPort: number, { ADMIN_PASSWORD }: Secrets): void {
  say(`
  oncekit demo

  shop              http://localhost:${port}
  fault lab         http://localhost:${port}/lab
  admin             http://localhost:${port}/admin/keys
  admin password    ${ADMIN_PASSWORD}
  fault proxy       http://localhost:${proxyPort}   (the shop, behind a network that breaks on demand)

  Ctrl-C stops all of it.
`);
}

// A terminal, npm and tsx may each pass the signal on: the first one counts, and stopping is bounded anyway.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stopping.abort());
}

let exitCode = 0;
try {
  await demo();
  // The children and the database keep the process alive until a signal comes.
  if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(error instanceof Error ? error.message : error);
    exitCode = 1;
  }
}
if (running.length > 0) say('\nStopping …');
// In order: the app answers what it has begun while its database is still there.
for (const each of running) await each.stop();
process.exit(exitCode);
