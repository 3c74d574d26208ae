import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { SECRET, signed } from './webhook.fixture.ts';

let database: TestDatabase;
let receivePaymentWebhook: typeof import('./webhook.ts').receivePaymentWebhook;
let inbox: typeof import('../inbox.ts').inbox;
beforeAll(async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  database = await testDatabase();
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('STRIPE_WEBHOOK_SECRET', SECRET);
  vi.stubEnv('STRIPE_API_BASE', 'http://127.0.0.1:1');
  // Only now: these modules read where the database is when they are evaluated.
  ({ receivePaymentWebhook } = await import('./webhook.ts'));
  ({ inbox } = await import('../inbox.ts'));
});
afterAll(async () => {
  const { db } = await import('../db.ts');
  await db().$disconnect();
  vi.unstubAllEnvs();
  await database?.drop();
});

const ATTEMPTS = 20;
const LARGE = 'x'.repeat(270_000);

test.each([
  ['is kept, and so acknowledged', 202, 204, { object: {} }],
  ['is too large to be kept: only the provider can repeat it', 500, 500, { object: { metadata: { note: LARGE } } }],
  ['has no one meaning outside of what counts', 500, 500, { object: {}, previous_attributes: { x: 2 ** 53 } }],
])('an event that fails and %s', async (_, whileFailing, whenDead, { object, ...more }) => {
  const order = { id: randomUUID(), tenant: 'demo', principal: 'ada', source: 'api', paymentMethod: 'pm_card_visa' };
  const goods = { sku: 'mug', quantity: 1, amountCents: 1800 };
  // While any order is being paid, the refund of an unknown payment may be that order's, and fails.
  await database.client.order.create({ data: { ...order, ...goods, status: 'paying' } });
  const refund = { id: `re_${order.id}`, status: 'succeeded', amount: 500, payment_intent: 'pi_x', metadata: {} };
  const { body, signature, event } = signed({
    id: `evt_${order.id}`,
    object: 'event',
    type: 'refund.created',
    data: { ...more, object: { ...refund, created: Math.floor(Date.now() / 1000), ...object } },
  });
  const deliver = async () => {
    const headers = { 'Stripe-Signature': signature };
    return (await receivePaymentWebhook(new Request('http://shop.test', { method: 'POST', headers, body }))).status;
  };
  const statuses: number[] = [];
  for (let times = 1; times <= ATTEMPTS + 1; times++) {
    statuses.push(await deliver());
    // An attempt counts when it is due.
    await database.client.$executeRaw`
      UPDATE inbox_events SET next_attempt_at = clock_timestamp() - interval '1 s' WHERE state = 'failed'`;
  }
  expect(statuses).toEqual([...Array(ATTEMPTS - 1).fill(whileFailing), whenDead, whenDead]);
  const name = { source: 'stripe', eventId: event.id };
  expect(await inbox.find(name)).toMatchObject({ state: 'dead', attempts: ATTEMPTS });

  await database.client.order.update({ where: { id: order.id }, data: { status: 'payment_failed' } });
  await inbox.requeue(name, 'alice');
  expect(await deliver()).toBe(204);
  expect(await inbox.find(name)).toMatchObject({ state: 'processed' });
});
