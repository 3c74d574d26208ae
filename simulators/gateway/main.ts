/**
 * Starts the payment gateway as a process: GATEWAY_PORT (0 takes a free one), GATEWAY_DATA, GATEWAY_WEBHOOK_URL with
 * STRIPE_WEBHOOK_SECRET, GATEWAY_KEY_TTL_MS. SIGTERM ends it.
 */
import { join, resolve } from 'node:path';
import { DAY_MS, startGateway } from './server.ts';
import type { WebhookEndpoint } from './webhooks.ts';

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

function portFrom(text: string | undefined): number {
  const port = Number(text || 12111);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new Error(`GATEWAY_PORT is "${text}". It must be a port: a whole number from 0 to 65535.`);
}

try {
  const { GATEWAY_PORT, GATEWAY_DATA, GATEWAY_WEBHOOK_URL, STRIPE_WEBHOOK_SECRET, GATEWAY_KEY_TTL_MS } = process.env;
  const port = portFrom(GATEWAY_PORT);
  const webhook = webhookFrom(GATEWAY_WEBHOOK_URL, STRIPE_WEBHOOK_SECRET);
  const keyTtlMs = ttlFrom(GATEWAY_KEY_TTL_MS);
  const dataFile = dataFileFrom(GATEWAY_DATA || '.data/gateway');
  const gateway = await startGateway({ port, dataFile, keyTtlMs, ...(webhook ? { webhook } : {}) }).catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error(`Port ${port} is in use. Stop what listens there, or choose another port with GATEWAY_PORT.`);
  });
  console.log(`Payment gateway on ${gateway.url}, ledger in ${dataFile}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void gateway.close());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
