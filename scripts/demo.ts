import { once } from 'node:events';
import { buildApp, generateSources } from './services/build-app.ts';
import { type DemoProcesses, reachable, startProcesses } from './services/demo-processes.ts';
import { paymentsFrom } from './services/payments.ts';
import { portFrom, refuseTakenPort, untilAnswering } from './services/ports.ts';
import { loadSecrets } from './services/secrets.ts';

const dev = process.argv.includes('--dev');
const say = (line: string) => console.log(line);

/** The processes in the order of their start; stopped from the front, so that the database goes last. */
const running: { stop(): Promise<void> }[] = [];
const stopping = new AbortController();

async function demo(): Promise<void> {
  const port = portFrom('PORT', 3000);
  const proxyPort = portFrom('PROXY_PORT', port + 1);
  // This machine only, unless asked: the demo's passwords and faults are not made for a network.
  const host = process.env.HOST || '127.0.0.1';
  await refuseTakenPort(port, host, 'PORT');
  await refuseTakenPort(proxyPort, '127.0.0.1', 'PROXY_PORT');
  const { gatewayPort, env: payments } = paymentsFrom(process.env, portFrom('GATEWAY_PORT', 12111));
  if (gatewayPort !== undefined) await refuseTakenPort(gatewayPort, '127.0.0.1', 'GATEWAY_PORT');

  const secrets = loadSecrets();
  await (dev
    ? generateSources({ log: say, signal: stopping.signal })
    : buildApp({ log: say, signal: stopping.signal }));
  stopping.signal.throwIfAborted();
  const databaseUrl = process.env.DATABASE_URL || (await startDatabase());
  await prepareDatabase(databaseUrl);
  stopping.signal.throwIfAborted();

  const env = { ...secrets, ...payments, DATABASE_URL: databaseUrl };
  const demo = { dev, host, port, proxyPort, gatewayPort, env, say };
  running.unshift(...startProcesses(demo));
  const { signal } = stopping;
  if (gatewayPort !== undefined) await untilAnswering(`http://127.0.0.1:${gatewayPort}/_ledger`, { signal });
  await untilAnswering(`http://${reachable(host)}:${port}/api/health`, { signal });
  tell(demo, secrets.ADMIN_PASSWORD);
}

async function startDatabase(): Promise<string> {
  say('Starting PostgreSQL …');
  const { startPostgres } = await import('./services/postgres.ts');
  const database = await startPostgres({ name: 'demo' });
  running.push(database);
  return database.url;
}

/** Imported late: both need the generated client, which `generateSources` may only just have written. */
async function prepareDatabase(url: string): Promise<void> {
  const { migrate } = await import('./services/migrate.ts');
  const { seed } = await import('./services/seed.ts');
  await migrate(url);
  await seed(url);
}

function tell({ port, proxyPort, gatewayPort }: DemoProcesses, adminPassword: string): void {
  const payments =
    gatewayPort === undefined
      ? (process.env.STRIPE_API_BASE ?? 'Stripe')
      : `http://localhost:${gatewayPort}   (a local gateway; what it did: /_ledger)`;
  say(`
  oncekit demo

  shop              http://localhost:${port}
  mailbox           http://localhost:${port}/mailbox
  receiver          http://localhost:${port}/receiver   (what a partner's system is told)
  fault lab         http://localhost:${proxyPort}/lab
  admin             http://localhost:${port}/admin/keys
  admin password    ${adminPassword}
  fault proxy       http://localhost:${proxyPort}   (the shop, behind a network that breaks on demand)
  payments          ${payments}

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
// In order: the app and the worker end what they have begun while gateway and database are still there.
for (const each of running) await each.stop();
process.exit(exitCode);
