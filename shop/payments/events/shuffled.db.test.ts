import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { random } from '../../../e2e/fixtures/random.ts';
import { openShop, untilFinal } from '../../shop.fixture.ts';
import { type Sent, startWebhooks } from '../webhook.fixture.ts';

let webhooks: Awaited<ReturnType<typeof startWebhooks>>;
let shop: Awaited<ReturnType<typeof openShop>>;
let inbox: typeof import('../../inbox.ts').inbox;
beforeAll(async () => {
  // Executors that were taken for dead, and events that came too early, are said as they ought to be.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  webhooks = await startWebhooks();
  shop = await openShop({ keyTtlMs: 1, webhook: webhooks.webhook });
  const { receivePaymentWebhook } = await import('../webhook.ts');
  ({ inbox } = await import('../../inbox.ts'));
  webhooks.receiveWith(receivePaymentWebhook);
});
afterAll(async () => {
  await shop.close();
  await webhooks.close();
});

const STORIES = 12;
const AT_ONCE = 8;
const PAID = 1800;
/** Paid; given back elsewhere, here, and elsewhere again; disputed. Two events for a refund, and one for the rest. */
const EVENTS = 8;

interface Story {
  seed: number;
  next: () => number;
  key: string;
  refundKey: string;
  order: string;
  payment: string;
  /** Of the events that were delivered. */
  statuses: Map<string, number[]>;
}

const inTurns = async (stories: Story[], tell: (story: Story) => Promise<unknown>) => {
  for (let at = 0; at < stories.length; at += AT_ONCE) await Promise.all(stories.slice(at, at + AT_ONCE).map(tell));
};

const told = (story: Story, count: number) => webhooks.about([story.order, story.payment], count);

/** In an order of its own, each one to three times, some of them at once. */
async function deliver({ next, statuses }: Story, events: readonly Sent[]) {
  const waiting = events
    .flatMap((one) => Array.from({ length: 1 + Math.floor(next() * 3) }, () => one))
    .map((one) => ({ one, at: next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
  while (waiting.length > 0) {
    const some = waiting.splice(0, 1 + Math.floor(next() * 4));
    const answers = await Promise.all(some.map((one) => webhooks.deliver(one)));
    for (const [n, { event }] of some.entries()) {
      statuses.set(event.id, [...(statuses.get(event.id) ?? []), answers[n]?.status ?? 0]);
    }
  }
}

/** Some of what the provider has said so far. */
const deliverSome = async (story: Story, count: number) =>
  deliver(
    story,
    (await told(story, count)).filter(() => story.next() < 0.6),
  );

/** Its executor is taken for dead, and nobody would look for an hour. */
const abandon = (key: string) => shop.client.$executeRaw`
  UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = now() + interval '1 h'
   WHERE key = ${key} AND state = 'in_progress'`;

const complete = () => shop.idempotency.completeDue({ limit: STORIES });

/** Until no event waits for another try. */
async function drain() {
  for (let round = 1; round <= 10; round++) {
    await shop.client.$executeRaw`
      UPDATE inbox_events SET next_attempt_at = clock_timestamp() - interval '1 s' WHERE state = 'failed'`;
    await inbox.retryDue({ limit: 1000 });
    await complete();
    if ((await shop.client.inboxEvent.count({ where: { state: { not: 'processed' } } })) === 0) return;
  }
}

/** All that must not depend on the order in which the shop was told. */
async function ending({ order: id, payment, key, refundKey }: Story) {
  const { client } = shop;
  const { status, disputedAt, paymentIntent, refunds } = await shop.order(id);
  const entries = await shop.booked(id);
  const records = await client.auditRecord.findMany({ where: { orderId: id } });
  const events = await client.outboxEvent.findMany({
    where: { aggregate: `order:${id}` },
    orderBy: { sequence: 'asc' },
  });
  const keys = await client.idempotencyKey.findMany({ where: { key: { in: [key, refundKey] } } });
  const eventIds = (await told({ order: id, payment } as Story, EVENTS)).map(({ event }) => event.id);
  return {
    status,
    isDisputed: disputedAt !== null,
    isPaidBy: paymentIntent === payment,
    refunds: refunds.map((one) => `${one.source} ${one.status} ${one.amountCents}`).sort(),
    held: entries.filter(([, account]) => account === 'payments').reduce((sum, [, , cents]) => sum + Number(cents), 0),
    entries: entries.length,
    records: records.map(({ action }) => action).sort(),
    announced: events.map(({ type }) => type),
    finally: JSON.parse(events.at(-1)?.payload ?? '{}').orderStatus,
    keys: keys.map(({ state }) => state),
    received: await client.inboxEvent.count({ where: { eventId: { in: eventIds }, state: 'processed' } }),
    charges: (await shop.moved(id)).charges.length,
  };
}

test('M3 in whatever order the provider’s events come, they come to the same', async () => {
  const stories = Array.from({ length: STORIES }, (_, seed): Story => {
    const name = { key: randomUUID(), refundKey: randomUUID() };
    return { seed, next: random(seed), ...name, order: '', payment: '', statuses: new Map() };
  });

  // The card is charged, and the shop does not know it yet.
  let letGo = await shop.hold('after-answer checkout');
  const placing = stories.map(async ({ key }) => {
    const cart = await shop.cart('mug', 1);
    return await untilFinal(() => shop.place(cart, { key }));
  });
  await inTurns(stories, async (story) => {
    story.order = await shop.until(async () => {
      const order = await shop.client.order.findFirst({ where: { idempotencyKey: story.key } });
      return order && ((await shop.moved(order.id)).charges.length === 1 ? order.id : null);
    });
    story.payment = (await shop.moved(story.order)).charges[0]?.payment_intent ?? '';
    await shop.refundElsewhere(story.payment, 500);
    if (story.seed % 2) await abandon(story.key);
    await deliverSome(story, 3);
  });
  await letGo();
  await complete();
  for (const outcome of await Promise.all(placing)) expect(outcome).toMatchObject({ ok: true });

  // It is given back here, and the shop does not know that yet.
  letGo = await shop.hold('after-answer refund');
  const giving = stories.map(({ order, refundKey }) =>
    untilFinal(() => shop.giveBack(order, '3.00', { key: refundKey })),
  );
  await inTurns(stories, async (story) => {
    await shop.until(async () => ((await shop.moved(story.order)).refunds.length === 2 ? true : null));
    await shop.refundElsewhere(story.payment, story.seed % 4 < 2 ? 700 : undefined);
    await shop.dispute(story.payment);
    if (story.seed % 3) await abandon(story.refundKey);
    await deliverSome(story, EVENTS);
  });
  await letGo();
  await complete();
  for (const outcome of await Promise.all(giving)) expect(outcome).toMatchObject({ ok: true });

  // All that has not been delivered, and some of it again. What has failed meanwhile is otherwise left to the inbox.
  await inTurns(stories, async (story) => {
    const all = await told(story, EVENTS);
    await deliver(
      story,
      all.filter(({ event }) => !story.statuses.has(event.id) || story.next() < 0.4),
    );
  });
  expect(await shop.client.inboxEvent.count({ where: { state: 'failed' } })).toBeGreaterThan(0);
  await drain();

  for (const story of stories) {
    const isAllBack = story.seed % 4 >= 2;
    const last = isAllBack ? PAID - 800 : 700;
    expect(await ending(story), `seed ${story.seed}`).toEqual({
      status: isAllBack ? 'refunded' : 'partially_refunded',
      isDisputed: true,
      isPaidBy: true,
      refunds: ['form succeeded 300', 'provider succeeded 500', `provider succeeded ${last}`].sort(),
      held: PAID - 800 - last,
      entries: 8,
      records: [
        'order.disputed',
        'order.paid',
        'order.placed',
        'order.refunded',
        'order.refunded',
        'order.refunded',
        'refund.reserved',
      ],
      announced: ['order.paid', 'order.refunded', 'order.refunded', 'order.refunded'],
      finally: isAllBack ? 'refunded' : 'partially_refunded',
      keys: ['succeeded', 'succeeded'],
      received: EVENTS,
      charges: 1,
    });
    expect(new Set([204, 202, ...[...story.statuses.values()].flat()]).size).toBe(2);
  }
  // Some have overtaken what they are about, or this has tested nothing.
  expect(stories.filter(({ statuses }) => [...statuses.values()].flat().includes(202)).length).toBeGreaterThan(
    STORIES / 4,
  );
});
