import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTROL_PREFIX, control } from './gateway/control.ts';
import { Gateway } from './gateway/gateway.ts';
import { serveApi } from './gateway/serve-api.ts';
import type { WebhookEndpoint } from './gateway/webhooks.ts';
import { portFrom, refuseTakenPort } from './ports.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface GatewayOptions {
  /** 0 takes a free port. */
  port: number;
  /** The ledger: one file, made when it is not there. No two gateways may share it. */
  dataFile: string;
  webhook?: WebhookEndpoint;
  /** How long an idempotency key is known. Stripe's is a day. */
  keyTtlMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface RunningGateway {
  url: string;
  port: number;
  /** Breaks every open connection. What was answered, and more, is in the ledger. */
  close(): Promise<void>;
}

/**
 * Starts a payment gateway on 127.0.0.1 that speaks Stripe's API, as far as the shop uses it, to Stripe's own client;
 * whatever it answered survives a SIGKILL. It fails on demand (`/_faults`) and shows what really happened (`/_ledger`).
 * Rejects when the port is taken or the ledger is damaged.
 */
export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  let gateway: Gateway;
  const server = createServer((req, res) => {
    void (req.url?.startsWith(CONTROL_PREFIX) ? control : serveApi)(req, res, gateway);
  });
  // Longer than clients keep an idle connection: one closed under a request looks like a lost answer.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 66_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port, '127.0.0.1', resolve);
  });
  const { keyTtlMs = DAY_MS, now = Date.now, ...rest } = options;
  try {
    // Only now, so that a second gateway fails at its port before it touches the ledger of the first.
    gateway = new Gateway({ keyTtlMs, now, ...rest });
  } catch (error) {
    server.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        gateway.close();
        server.closeAllConnections();
      }),
  };
}

/** A folder, or a file that ends in `.jsonl`. */
function dataFileFrom(path: string): string {
  return resolve(path.endsWith('.jsonl') ? path : join(path, 'ledger.jsonl'));
}

function webhookFrom(url: string | undefined, secret: string | undefined): WebhookEndpoint | undefined {
  if (!url) return undefined;
  if (!URL.canParse(url)) throw new Error(`GATEWAY_WEBHOOK_URL is "${url}". It must be a URL.`);
  if (!secret) throw new Error('GATEWAY_WEBHOOK_URL needs STRIPE_WEBHOOK_SECRET: webhooks are signed.');
  return { url, secret };
}

function ttlFrom(text: string | undefined): number {
  const ms = Number(text || DAY_MS);
  if (Number.isInteger(ms) && ms > 0) return ms;
  throw new Error(`GATEWAY_KEY_TTL_MS is "${text}". It must be a whole number of milliseconds, at least 1.`);
}

async function main(): Promise<void> {
  const { GATEWAY_PORT, GATEWAY_DATA, GATEWAY_WEBHOOK_URL, STRIPE_WEBHOOK_SECRET, GATEWAY_KEY_TTL_MS } = process.env;
  const port = GATEWAY_PORT === '0' ? 0 : portFrom('GATEWAY_PORT', 12111);
  const webhook = webhookFrom(GATEWAY_WEBHOOK_URL, STRIPE_WEBHOOK_SECRET);
  const keyTtlMs = ttlFrom(GATEWAY_KEY_TTL_MS);
  await refuseTakenPort(port, '127.0.0.1', 'GATEWAY_PORT');
  const dataFile = dataFileFrom(GATEWAY_DATA || '.data/gateway');
  const gateway = await startGateway({ port, dataFile, keyTtlMs, ...(webhook ? { webhook } : {}) });
  console.log(`Payment gateway on ${gateway.url}, ledger in ${dataFile}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void gateway.close());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
