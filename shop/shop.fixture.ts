import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from 'oncekit';
import pg from 'pg';
import { PATIENCE_MS } from '../scripts/testing/patience.ts';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { until } from '../scripts/testing/until.ts';
import { startGateway } from '../simulators/gateway/server.ts';

/** As a browser does it: sends the same key again, a little later, until the answer is final. */
export async function untilFinal<T>(send: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await send();
    if (outcome.ok || outcome.retry !== 'same-key' || performance.now() > deadline) return outcome;
    await sleep(outcome.retryAfterMs ?? 100);
  }
}

interface ShopOptions {
  keyTtlMs?: number;
  /** The provider honours no keys, and says of what it has done only what it is asked by an id; the shop knows that. */
  isBlind?: boolean;
  /** Where the gateway sends its webhooks. */
  webhook?: { url: string; secret: string };
  /** A gateway that is there already; default: one in this process. */
  gateway?: { url: string; close(): Promise<void> };
}

/** Shared by the tests of the shop: a database and a payment gateway of their own, and the operations on them. */
export async function openShop({ keyTtlMs, isBlind, webhook, gateway: given }: ShopOptions = {}) {
  const database = await testDatabase({ max: 5 });
  const folder = await mkdtemp(path.join(tmpdir(), 'oncekit-gateway-'));
  const dataFile = path.join(folder, 'ledger.jsonl');
  const gateway = given ?? (await startGateway({ port: 0, dataFile, keyTtlMs, ...(webhook ? { webhook } : {}) }));
  Object.assign(process.env, {
    DATABASE_URL: database.url,
    STRIPE_API_BASE: gateway.url,
    DEMO_FAULTS_DIR: folder,
    IDEMPOTENCY_SECRET: 'a-secret-of-the-tests-of-the-shop-alone',
    ...(webhook ? { STRIPE_WEBHOOK_SECRET: webhook.secret } : {}),
    ...(keyTtlMs ? { STRIPE_KEY_TTL_MS: String(keyTtlMs) } : {}),
    ...(isBlind ? { STRIPE_KEY_TTL_MS: '0', STRIPE_LOOKUP: 'off' } : {}),
  });
  // Only now: these modules read where the database is when they are evaluated.
  const { checkout } = await import('./orders/checkout.ts');
  const { refund } = await import('./payments/refund.ts');
  const { cancelOrder } = await import('./orders/cancel.ts');
  const { labOrder } = await import('./lab/order.ts');
  const { jobHandlers } = await import('./jobs.ts');
  const { idempotency } = await import('./idempotency.ts');
  const { db } = await import('./db.ts');

  const { client } = database;
  const ada = { tenant: 'demo', principal: 'ada' };

  const call = async (method: string, where: string, body?: unknown) => {
    const answer = await fetch(`${gateway.url}${where}`, { method, body: body ? JSON.stringify(body) : undefined });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.status === 204 ? undefined : answer.json();
  };

  if (isBlind) await call('POST', '/_settings', { honours_keys: false, searchable: false });

  let seen = 0;

  return {
    client,
    idempotency,
    jobHandlers,
    url: database.url,
    operations: { checkout, refund, cancelOrder, labOrder },
    ada,

    async cart(sku = 'mug', quantity = 2, shopper = 'ada') {
      const cart = await client.cart.create({ data: { id: randomUUID(), shopper, sku, quantity } });
      return cart.id;
    },
    place: (cart: string, { key = randomUUID() as string, card = 'pm_card_visa', deadlineMs = 20_000 } = {}) =>
      checkout.execute({
        key,
        scope: ada,
        deadlineMs,
        payload: checkoutPayload(cart, card),
      }),
    giveBack: (order: string, amount: string, { key = randomUUID() as string, scope = ada } = {}) =>
      refund.execute({ key, scope, deadlineMs: 20_000, payload: { order_id: order, amount } }),

    stock: async (sku: string) => (await client.product.findUniqueOrThrow({ where: { sku } })).stock,
    order: (id: string) => client.order.findUniqueOrThrow({ where: { id }, include: { refunds: true } }),
    booked: async (orderId: string) => {
      const entries = await client.ledgerEntry.findMany({ where: { orderId }, orderBy: { id: 'asc' } });
      return entries.map(({ posting, account, amountCents }) => [posting.split(':')[0], account, amountCents]);
    },
    /** The jobs that wait for a worker. */
    jobs: async () =>
      (await client.$queryRaw<{ key: string; task: string; payload: unknown }[]>`
        SELECT j.key, t.identifier AS task, j.payload FROM graphile_worker._private_jobs j
        JOIN graphile_worker._private_tasks t ON t.id = j.task_id ORDER BY j.id`) as {
        key: string;
        task: string;
        payload: unknown;
      }[],
    /** Waits until `count` transactions of the shop wait for a row that somebody else has locked. */
    async untilWaiting(watcher: pg.Client, count: number) {
      await until(`${count} wait`, async () => {
        const { rows } = await watcher.query(
          `SELECT count(*)::int AS waiting FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows[0].waiting >= count;
      });
    },
    async until<T>(ask: () => Promise<T | null>): Promise<T> {
      let found: T | null = null;
      await until('it happened', async () => {
        found = await ask();
        return Boolean(found);
      });
      return found as T;
    },
    async connect() {
      const connection = new pg.Client({ connectionString: database.url });
      await connection.connect();
      return connection;
    },
    /** Movements of money, by the gateway's own ledger. */
    moved: async (orderId: string) =>
      (await call('GET', `/_ledger?order_id=${orderId}`)) as {
        charges: { amount: number; payment_intent: string }[];
        refunds: { id: string; amount: number }[];
      },
    /** Has executions wait at a point, such as `after-answer checkout`, until the returned function is called. */
    hold: async (at: string) => {
      await writeFile(path.join(folder, 'hold-at'), at);
      return () => rm(path.join(folder, 'hold-at'));
    },
    heal: () => call('DELETE', '/_faults'),
    break: (fault: { kind: string; path?: string; method?: 'GET' | 'POST'; times?: number; ms?: number }) =>
      call('POST', '/_faults', fault),
    /** Faults that have not happened: a test of one is none if it is still there at its end. */
    unspent: async () => {
      const faults = (await call('GET', '/_faults')) as { kind: string; remaining: number }[];
      return faults.filter(({ kind, remaining }) => kind !== 'down' && remaining > 0).length;
    },
    /** The requests of the shop to the gateway since the last time this was asked, such as `POST /v1/refunds`. */
    asked: async () => {
      const all = (await call('GET', '/_requests')) as { method: string; path: string }[];
      const fresh = all.slice(seen);
      seen = all.length;
      return fresh.map(({ method, path }) => `${method} ${path.split('?')[0]}`);
    },
    /** As somebody else's request, or one of ours that is still on its way: a charge in the name of an order. */
    chargeElsewhere: async (orderId: string, amount: number): Promise<{ id: string }> => {
      const params = new URLSearchParams({ amount: String(amount), currency: 'usd', payment_method: 'pm_card_visa' });
      params.set('confirm', 'true');
      params.set('metadata[order_id]', orderId);
      params.set('automatic_payment_methods[enabled]', 'true');
      params.set('automatic_payment_methods[allow_redirects]', 'never');
      const headers = { Authorization: 'Bearer sk_test_elsewhere' };
      const answer = await fetch(`${gateway.url}/v1/payment_intents`, { method: 'POST', headers, body: params });
      if (!answer.ok) throw new Error(await answer.text());
      return await answer.json();
    },
    failRefund: (refund: string) => call('POST', '/_refund_failed', { refund }),
    dispute: (paymentIntent: string) => call('POST', '/_dispute', { payment_intent: paymentIntent }),
    /** As somebody does it on the provider's own pages; without an amount all that is left. */
    refundElsewhere: async (paymentIntent: string, amount?: number, metadata: Record<string, string> = {}) => {
      const params = new URLSearchParams({ payment_intent: paymentIntent });
      if (amount !== undefined) params.set('amount', String(amount));
      for (const [name, value] of Object.entries(metadata)) params.set(`metadata[${name}]`, value);
      const headers = { Authorization: 'Bearer sk_test_elsewhere' };
      const answer = await fetch(`${gateway.url}/v1/refunds`, { method: 'POST', headers, body: params });
      if (!answer.ok) throw new Error(await answer.text());
      return (await answer.json()) as { id: string };
    },
    forget: () => call('POST', '/_keys/forget'),
    async close() {
      await call('DELETE', '/_faults');
      await db().$disconnect();
      await database.drop();
      await gateway.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A checkout's fields, as the form sends them. */
export const checkoutPayload = (cart: string, card = 'pm_card_visa') => ({
  cart_id: cart,
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  line1: '1 Engine Way',
  city: 'London',
  postal_code: 'N1',
  country: 'United Kingdom',
  payment_method: card as 'pm_card_visa',
});
