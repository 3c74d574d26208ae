import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Stripe from 'stripe';
import { afterEach, beforeEach, expect } from 'vitest';
import { type GatewayOptions, type RunningGateway, startGateway } from './server.ts';

/** The start of each test of the gateway: a gateway with an empty ledger, and Stripe's own client to it. */
export const bed = {
  gateway: undefined as unknown as RunningGateway,
  stripe: undefined as unknown as Stripe,
  folder: '',
  dataFile: '',
  /** Added to the real time. */
  laterMs: 0,
};

export function useBed(): void {
  beforeEach(async () => {
    bed.folder = await mkdtemp(join(tmpdir(), 'gateway-'));
    bed.dataFile = join(bed.folder, 'ledger.jsonl');
    bed.laterMs = 0;
    await start();
  });
  afterEach(async () => {
    await bed.gateway.close();
    await rm(bed.folder, { recursive: true });
  });
}

export async function start(options: Partial<GatewayOptions> = {}): Promise<void> {
  const now = () => Date.now() + bed.laterMs;
  bed.gateway = await startGateway({ port: 0, dataFile: bed.dataFile, now, ...options });
  bed.stripe = clientOf(bed.gateway.port);
}

export async function restart(options: Partial<GatewayOptions> = {}): Promise<void> {
  await bed.gateway.close();
  await start(options);
}

/**
 * Even so the client sends a request once more, by itself, when its connection was reset: a test of a broken connection
 * breaks two, or expects a replay.
 */
export function clientOf(port: number): Stripe {
  return new Stripe('sk_test_local', { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 0 });
}

export async function control(path: string, method = 'GET', body?: unknown) {
  const text = typeof body === 'string' ? body : body === undefined ? null : JSON.stringify(body);
  const res = await fetch(bed.gateway.url + path, { method, body: text });
  const answer = await res.text();
  return { status: res.status, body: answer === '' ? undefined : JSON.parse(answer) };
}

export async function fault(given: Record<string, unknown>): Promise<void> {
  expect((await control('/_faults', 'POST', given)).status).toBe(201);
}

export const ledger = async (query = '') => (await control(`/_ledger${query}`)).body;

interface Pay {
  key?: string;
  amount?: number;
  card?: string;
  order?: string;
}

export function pay({ key = randomUUID(), amount = 2000, card = 'pm_card_visa', order = 'o1' }: Pay = {}) {
  const metadata = { order_id: order };
  return bed.stripe.paymentIntents.create(
    {
      amount,
      currency: 'usd',
      payment_method: card,
      confirm: true,
      metadata,
      automatic_payment_methods: { enabled: true },
    },
    { idempotencyKey: key },
  );
}

/** The error of a refused request. */
export async function refusalOf(promise: Promise<unknown>): Promise<InstanceType<typeof Stripe.errors.StripeError>> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Stripe.errors.StripeError) return error;
  throw error ?? new Error('It was not refused.');
}
