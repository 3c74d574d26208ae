import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CONTROL_PREFIX, control } from './control.ts';
import { Gateway } from './gateway.ts';
import { serveApi } from './serve-api.ts';
import type { WebhookEndpoint } from './webhooks.ts';

export const DAY_MS = 24 * 60 * 60 * 1000;

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
