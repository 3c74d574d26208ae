import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ADDRESS } from '../e2e/fixtures/address.ts';
import { testDatabase } from '../scripts/testing/test-database.ts';
import type { Client } from '../shop/db.ts';
import { startGateway } from '../simulators/gateway/server.ts';
import { countingProxy } from './counting-proxy.ts';
import { median, type Report } from './report.ts';

const WARM_UP = 40;
const CHECKOUTS = 100;
const IDLE_MS = 4000;
/** By the same count, before phases committed together what nothing stands between (ADR 37). */
const BEFORE = { statements: 61.9, transactions: 27.8 };

const SECRETS = {
  IDEMPOTENCY_SECRET: 'bench-secret-of-at-least-32-characters',
  STRIPE_SECRET_KEY: 'sk_test_bench',
  STRIPE_WEBHOOK_SECRET: 'whsec_bench-of-the-payment-provider',
  EVENTS_WEBHOOK_SECRET: `whsec_${Buffer.from('bench-secret-of-the-shop-for-events').toString('base64')}`,
  LOG_LEVEL: 'error',
};

/**
 * Counts the statements that one paid checkout of the demo sends to PostgreSQL over all its parts: the operation, its receipt's job, the relay,
 * the receiver of what is announced, and the payment provider's webhook. One after the other, so nothing is shared; what
 * an idle worker asks in the same time is taken off. `BENCH_STATEMENTS=1` lists them.
 */
export async function paidCheckout(): Promise<Report> {
  const { client: aside, url, drop } = await testDatabase();
  const proxy = await countingProxy(new URL(url));
  const folder = await mkdtemp(path.join(tmpdir(), 'oncekit-bench-'));
  const endpoints = await startEndpoints();
  Object.assign(process.env, SECRETS, { DATABASE_URL: proxy.url, EVENTS_WEBHOOK_URL: `${endpoints.url}/receiver` });
  const gateway = await startGateway({
    port: 0,
    dataFile: path.join(folder, 'ledger'),
    webhook: { url: `${endpoints.url}/payments`, secret: SECRETS.STRIPE_WEBHOOK_SECRET },
  });
  process.env.STRIPE_API_BASE = gateway.url;
  // Late, because they read what has just been set.
  const shop = await openShop(proxy.url);
  endpoints.open(shop.receive);
  try {
    const take = () => ({ transactions: proxy.counts.transactions, statements: proxy.counts.statements.length });
    for (let n = 0; n < WARM_UP; n++) await shop.sell(aside);
    const idleFrom = take();
    await wait(IDLE_MS);
    const from = take();
    const idle = shared(proxy.counts.statements.slice(idleFrom.statements), IDLE_MS);
    const idleTransactions = (from.transactions - idleFrom.transactions) / IDLE_MS;

    const began = performance.now();
    const took: number[] = [];
    for (let n = 0; n < CHECKOUTS; n++) took.push(await shop.sell(aside));
    const ms = performance.now() - began;
    const asked = shared(proxy.counts.statements.slice(from.statements), CHECKOUTS);
    for (const [text, count] of idle) asked.set(text, (asked.get(text) ?? 0) - (count * ms) / CHECKOUTS);
    if (process.env.BENCH_STATEMENTS) print(asked);

    const statements = [...asked.values()].reduce((sum, count) => sum + count, 0);
    const transactions = (take().transactions - from.transactions - idleTransactions * ms) / CHECKOUTS;
    return {
      name: 'One paid checkout of the demo, all its parts',
      rows: [
        {
          figure: `statements (before: ${BEFORE.statements})`,
          value: statements.toFixed(1),
          must: '≤ 45',
          met: statements <= 45,
        },
        { figure: `transactions (before: ${BEFORE.transactions})`, value: transactions.toFixed(1) },
        { figure: 'latency of the checkout alone, in ms', value: median(took).toFixed(1) },
        { figure: 'of it the payment provider, in ms', value: median(shop.chargeMs.slice(WARM_UP)).toFixed(1) },
      ],
    };
  } finally {
    await shop.close();
    await Promise.all([gateway.close(), endpoints.close()]);
    await proxy.close();
    await drop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** How often each was asked, by this many of whatever they are to be shared among. */
function shared(statements: readonly string[], among: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of statements) {
    const line = text.replace(/\s+/g, ' ').trim();
    counts.set(line, (counts.get(line) ?? 0) + 1 / among);
  }
  return counts;
}

function print(asked: Map<string, number>): void {
  for (const [text, count] of [...asked].sort(([, a], [, b]) => b - a)) {
    if (count > 0.05) console.error(`${count.toFixed(2).padStart(6)}  ${text.slice(0, 150)}`);
  }
}

/** The demo's operation, worker and webhooks in this process, on this database. */
async function openShop(url: string) {
  const [{ startWorker }, { db }, { idempotency }, { outbox }, { inbox }, { jobHandlers }, { checkout }] =
    await Promise.all([
      import('oncekit/worker'),
      import('../shop/db.ts'),
      import('../shop/idempotency.ts'),
      import('../shop/outbox.ts'),
      import('../shop/inbox.ts'),
      import('../shop/jobs.ts'),
      import('../shop/orders/checkout.ts'),
    ]);
  const [{ receivePaymentWebhook }, { receiveWebhook }] = await Promise.all([
    import('../shop/payments/webhook.ts'),
    import('../shop/receiver/webhook.ts'),
  ]);
  const { payments } = await import('../shop/payments/payments.ts');
  const chargeMs: number[] = [];
  const { paymentIntents } = payments().stripe;
  const create = paymentIntents.create.bind(paymentIntents);
  paymentIntents.create = (async (...args: Parameters<typeof create>) => {
    const began = performance.now();
    const intent = await create(...args);
    chargeMs.push(performance.now() - began);
    return intent;
  }) as typeof create;
  const worker = startWorker({
    idempotency,
    outbox,
    inbox,
    connectionString: url,
    tasks: jobHandlers,
    log: () => {},
  });
  const there = async () =>
    await db().$queryRaw<{ there: boolean }[]>`SELECT to_regclass('graphile_worker.jobs') IS NOT NULL AS there`;
  while (!(await there())[0]?.there) await wait(50);
  await wait(500);

  return {
    /** How long each charge took, as the shop's code waits for it. */
    chargeMs,
    receive: (request: Request) =>
      new URL(request.url).pathname === '/payments' ? receivePaymentWebhook(request) : receiveWebhook(request),
    /** How long the checkout itself took, in milliseconds; resolves when all that follows from it is done, too. */
    async sell(aside: Client): Promise<number> {
      const principal = randomUUID();
      const cart = { id: randomUUID(), shopper: principal, sku: 'mug', quantity: 1 };
      await aside.cart.create({ data: cart });
      const payload = { ...ADDRESS, cart_id: cart.id, payment_method: 'pm_card_visa' as const };
      const scope = { tenant: 'demo', principal };
      const began = performance.now();
      const outcome = await checkout.execute({ key: randomUUID(), payload, scope });
      const ms = performance.now() - began;
      if (!outcome.ok) throw new Error(`The checkout was refused: ${outcome.code}`);
      await untilSettled(aside, outcome.data.id);
      return ms;
    },
    async close() {
      await worker.stop();
      await outbox.close();
      await db().$disconnect();
    },
  };
}

/** The receipt is sent, the receiver has had its event, the relay knows, and the provider's webhook is done with. */
async function untilSettled(aside: Client, orderId: string): Promise<void> {
  const isSettled = async () => {
    const [row] = await aside.$queryRaw<{ done: boolean }[]>`
      SELECT EXISTS (SELECT FROM mails WHERE subject_id = ${orderId}::uuid)
         AND EXISTS (SELECT FROM received_events WHERE aggregate = ${`order:${orderId}`} AND effects > 0)
         AND NOT EXISTS (SELECT FROM outbox_deliveries WHERE state = 'pending')
         AND NOT EXISTS (SELECT FROM graphile_worker.jobs)
         AND (SELECT count(*) FROM inbox_events WHERE source = 'stripe' AND state = 'processed')
             = (SELECT count(*) FROM orders WHERE status = 'paid' AND source = 'checkout') AS done`;
    return row?.done;
  };
  for (const deadline = performance.now() + 10_000; !(await isSettled()); await wait(5)) {
    if (performance.now() > deadline) throw new Error(`Something of the order ${orderId} is never done.`);
  }
}

/** Where gateway and relay send their webhooks; what comes before `open` is to come again. */
async function startEndpoints() {
  let receive = async (_: Request) => new Response(null, { status: 503 });
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const { method, url = '/' } = req;
    const headers = req.headers as Record<string, string>;
    const request = new Request(`http://bench${url}`, { method, headers, body: Buffer.concat(chunks) });
    const { status } = await receive(request);
    res.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: (how: typeof receive) => {
      receive = how;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
