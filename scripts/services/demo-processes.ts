import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SupervisedChild, spawnChild } from './process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LEASE_MS = 5000;
const NEXT = 'node_modules/next/dist/bin/next';

export interface DemoProcesses {
  dev: boolean;
  host: string;
  port: number;
  proxyPort: number;
  /** Undefined: payments go to Stripe, or to a server that somebody else runs. */
  gatewayPort: number | undefined;
  /** For those that run the shop's code: secrets, and where the database and the payments are. */
  env: Record<string, string>;
  say: (line: string) => void;
}

/**
 * Starts the demo's processes, each of which is started again when it dies, and returns them in the order in which to
 * stop them: nobody loses what it still needs for what it has begun. `.data/<name>.pid` names each while it lives.
 */
export function startProcesses(demo: DemoProcesses): SupervisedChild[] {
  const { dev, host, port, proxyPort, gatewayPort } = demo;
  const script = (file: string) => ['--import', 'tsx', file];
  const shop = `http://${reachable(host)}:${port}`;
  const gatewayEnv = {
    GATEWAY_PORT: String(gatewayPort),
    GATEWAY_DATA: join(ROOT, '.data', 'gateway'),
    GATEWAY_WEBHOOK_URL: `${shop}/api/webhooks/payments`,
    STRIPE_WEBHOOK_SECRET: demo.env.STRIPE_WEBHOOK_SECRET ?? '',
  };
  const proxyEnv = {
    APP_HOST: reachable(host),
    PORT: String(port),
    PROXY_PORT: String(proxyPort),
    APP_PID_FILE: pidFile('app'),
  };
  // Unless it is told whom else to tell, the shop tells its own receiver.
  const env = {
    EVENTS_WEBHOOK_URL: process.env.EVENTS_WEBHOOK_URL || `${shop}/api/receiver`,
    // The lab kills the app: people are to see how that ends without waiting for half a minute.
    DEMO_LEASE_MS: process.env.DEMO_LEASE_MS || String(LEASE_MS),
    ...demo.env,
  };
  // The lab's switch, and where its pages find the network that breaks.
  const faults = join(ROOT, '.data', 'faults');
  rmSync(faults, { recursive: true, force: true });
  mkdirSync(faults, { recursive: true });
  // Everybody who reaches it may kill the app: nobody but this machine does.
  const isOwn = ['localhost', '127.0.0.1', '::1'].includes(host);
  const lab: Record<string, string> = isOwn ? { DEMO_FAULTS_DIR: faults, DEMO_PROXY_PORT: String(proxyPort) } : {};
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  // Started from the back: who is needed comes before who needs it.
  const gateway =
    gatewayPort === undefined ? [] : [start(demo, 'gateway', script('simulators/gateway/main.ts'), gatewayEnv)];
  // Next sets NODE_ENV for the app.
  const worker = start(demo, 'worker', script('scripts/worker.ts'), {
    ...env,
    NODE_ENV: dev ? 'development' : 'production',
  });
  const app = start(demo, 'app', [NEXT, dev ? 'dev' : 'start', '-H', host, '-p', String(port)], { ...env, ...lab });
  const proxy = start(demo, 'proxy', script('simulators/network/main.ts'), proxyEnv);
  // The worker first: it tells the app's receiver.
  return [proxy, worker, app, ...gateway];
}

/** The address of a server that listens on `host`, seen from here. */
export function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

function start({ say }: DemoProcesses, name: string, args: string[], env: Record<string, string>): SupervisedChild {
  return spawnChild({
    name,
    command: process.execPath,
    args,
    env: { NEXT_TELEMETRY_DISABLED: '1', ...env },
    cwd: ROOT,
    restart: true,
    onLine: (line) => say(`${name.padEnd(7)} | ${line}`),
    log: say,
    pidFile: pidFile(name),
  });
}

function pidFile(name: string): string {
  return join(ROOT, '.data', `${name}.pid`);
}
