import { randomBytes, randomUUID } from 'node:crypto';
import { signWebhook } from 'oncekit/messaging';
import type { Client } from '../shop/db.ts';
import { expect, test } from './fixtures/announcing.ts';
import { MUG } from './fixtures/api-client.ts';
import { insist } from './fixtures/api-insist.ts';
import { postOrder } from './fixtures/api-orders.ts';
import { SECRETS } from './fixtures/app-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';

/** The shop's events reach their receiver: by the worker, over HTTP, with a signature. */

const TO_RECEIVER = { method: 'POST', path: '/api/receiver' };
const orderIn = (url: string) => new URL(url).pathname.split('/').at(-1) ?? '';

/** The events of one order, in the order in which they came. */
const received = (db: Client, orderId: string) =>
  db.receivedEvent.findMany({
    where: { aggregate: `order:${orderId}` },
    orderBy: { firstAt: 'asc' },
    select: { type: true, sequence: true, webhooks: true, effects: true },
  });

const count = async (db: Client) => ({
  deliveries: (await db.receivedEvent.aggregate({ _sum: { webhooks: true } }))._sum.webhooks ?? 0,
  inbox: await db.inboxEvent.count(),
});

/** An order of the API's, paid. */
async function paid(origin: string): Promise<string> {
  const answer = await postOrder(origin, randomUUID());
  return ((await answer.json()) as { id: string }).id;
}

test('paid, refunded and cancelled orders show on the receiver’s page, in order; a declined one does not', async ({
  page,
  shop,
  db,
  app,
}) => {
  await page.goto('/receiver');
  await expect(page.getByText('Nothing has come yet')).toBeVisible();

  // First, so that whatever it has announced would be here before the others.
  const body = { ...MUG, payment_method: 'pm_card_chargeDeclined' };
  const declined = await insist(() => app.url, { key: randomUUID(), body });
  expect(declined.status).toBe(402);
  const { id: unpaid } = await db.order.findFirstOrThrow({ where: { status: 'payment_failed' } });

  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const bought = orderIn(page.url());
  await page.getByRole('button', { name: /refund/i }).click();
  await expect(page.locator('[data-order-status=refunded]')).toBeVisible();

  await page.goto('/lab');
  await shop.orderInLab.click();
  await page.locator('[data-order-id]').click();
  await page.waitForURL('**/orders/*');
  const cancelled = orderIn(page.url());
  await page.getByRole('button', { name: 'Cancel this order' }).click();
  await expect(page.locator('[data-order-status=cancelled]')).toBeVisible();

  await expect.poll(() => received(db, cancelled)).toHaveLength(1);
  await page.goto('/receiver');
  const rows = page.locator('[data-event]');
  await expect(rows).toHaveCount(3);
  const shown = (orderId: string) => rows.filter({ has: page.locator(`a[href="/orders/${orderId}"]`) });
  // Newest first.
  await expect(shown(bought)).toContainText(['order.refunded', 'order.paid']);
  await expect(shown(cancelled)).toContainText(['order.cancelled']);
  await expect(shown(bought).first()).toContainText('$18.00');
  const once = { webhooks: 1, effects: 1 };
  expect(await received(db, bought)).toEqual([
    { type: 'order.paid', sequence: 1, ...once },
    { type: 'order.refunded', sequence: 2, ...once },
  ]);
  expect(await received(db, cancelled)).toEqual([{ type: 'order.cancelled', sequence: 1, ...once }]);
  expect(await db.outboxEvent.count({ where: { aggregate: `order:${unpaid}` } })).toBe(0);
});

test('the receiver’s answer is lost: the event comes twice, and takes effect once', async ({
  page,
  app,
  db,
  network,
}) => {
  await network.break({ match: TO_RECEIVER, kind: 'lose-answer', times: 1 });
  const id = await paid(app.url);
  await expect.poll(() => received(db, id)).toEqual([{ type: 'order.paid', sequence: 1, webhooks: 2, effects: 1 }]);
  await page.goto('/receiver');
  await expect(page.locator('[data-count=duplicates]')).toHaveText('1');
  const [events, effects] = await Promise.all(
    ['events', 'effects'].map((name) => page.locator(`[data-count=${name}]`).textContent()),
  );
  expectCounted(effects).toBe(events);
});

test('the worker is killed while the receiver answers: the next one sends it again, and it takes effect once', {
  tag: '@chaos',
}, async ({ app, db, network, worker }) => {
  await network.break({ match: TO_RECEIVER, kind: 'delay-answer', ms: 30_000, times: 1 });
  const id = await paid(app.url);
  await expect.poll(() => received(db, id)).toEqual([{ type: 'order.paid', sequence: 1, webhooks: 1, effects: 1 }]);
  expect(worker.kill()).toBe(true);
  // Its lease is over: nobody waits for that.
  await db.$executeRaw`
    UPDATE outbox_deliveries SET next_attempt_at = clock_timestamp() - interval '1 s' WHERE state = 'pending' AND aggregate = ${`order:${id}`}`;
  const delivery = () => db.outboxDelivery.findFirst({ where: { aggregate: `order:${id}` } });
  await expect.poll(delivery).toMatchObject({ state: 'delivered', attempts: 2 });
  expect(await received(db, id)).toEqual([{ type: 'order.paid', sequence: 1, webhooks: 2, effects: 1 }]);
});

test('what does not come from the shop, or not now, is refused and counts for nothing', async ({ app, db }) => {
  const event = { type: 'order.paid', aggregate: `order:${randomUUID()}`, sequence: 1, data: { amountCents: 1 } };
  const body = JSON.stringify({ ...event, timestamp: new Date().toISOString() });
  const id = randomUUID();
  const send = (headers: object, text = body) =>
    fetch(`${app.url}/api/receiver`, { method: 'POST', headers: { ...headers }, body: text });
  const ours = [SECRETS.EVENTS_WEBHOOK_SECRET];
  const sixMinutesAgo = Date.now() - 360_000;
  const before = await count(db);
  const refused = {
    unsigned: await send({}),
    forged: await send(signWebhook(id, body, Date.now(), [`whsec_${randomBytes(32).toString('base64')}`])),
    tampered: await send(signWebhook(id, body, Date.now(), ours), body.replace('"amountCents":1', '"amountCents":9')),
    'under another id': await send({ ...signWebhook(id, body, Date.now(), ours), 'webhook-id': randomUUID() }),
    'played again': await send(signWebhook(id, body, sixMinutesAgo, ours)),
  };
  for (const [what, answer] of Object.entries(refused)) {
    expect(answer.status, what).toBe(401);
    expect(await answer.text(), what).toMatch(/^The webhook cannot be believed\. .{1,60}\.\n$/);
  }
  expect((await send(signWebhook(id, 'no event', Date.now(), ours), 'no event')).status).toBe(400);
  expectCounted(await db.receivedEvent.count({ where: { id } })).toBe(0);
  expect(await count(db)).toEqual(before);
  // The same one as the shop would have sent it.
  expect((await send(signWebhook(id, body, Date.now(), ours))).status).toBe(204);
  expect(await count(db)).toEqual({ deliveries: before.deliveries + 1, inbox: before.inbox + 1 });
});
