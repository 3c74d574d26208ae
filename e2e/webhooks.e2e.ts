import { randomUUID } from 'node:crypto';
import { postOrder } from './fixtures/api-orders.ts';
import { ADA } from './fixtures/shop.ts';
import { deliver, sign, type Webhook } from './fixtures/webhook-tap.ts';
import { expect, NEXT_SECRET, test, type Webhooks } from './fixtures/webhooks.ts';

/** The rows that a webhook may change. */
const all = async ({ db }: Webhooks) => ({
  inbox: await db.inboxEvent.findMany({ orderBy: { eventId: 'asc' } }),
  orders: await db.order.findMany({ orderBy: { id: 'asc' } }),
  refunds: await db.refund.findMany({ orderBy: { id: 'asc' } }),
  ledger: await db.ledgerEntry.findMany({ orderBy: { id: 'asc' } }),
});

/** The books of one order. */
async function books({ db }: Webhooks, id: string) {
  const { status, refunds, entries } = await db.order.findUniqueOrThrow({
    where: { id },
    include: { refunds: true, entries: true },
  });
  const held = entries.filter(({ account }) => account === 'payments').reduce((sum, one) => sum + one.amountCents, 0);
  return { status, refunds: refunds.map(({ source, amountCents }) => `${source} ${amountCents}`), held };
}

const inboxRow = ({ db }: Webhooks, { body }: Webhook) =>
  db.inboxEvent.findUnique({ where: { source_eventId: { source: 'stripe', eventId: JSON.parse(body).id } } });

/** An order of $18.00 that is paid, and the webhook of a refund of $5.00 on the provider's pages, which is kept back. */
async function refundElsewhere(webhooks: Webhooks) {
  webhooks.keep();
  const { apps, gateway } = webhooks;
  const { id } = (await (await postOrder(apps[0].url, randomUUID())).json()) as { id: string };
  const [charge] = await gateway.charges(id);
  await gateway.post('/v1/refunds', randomUUID(), { payment_intent: charge?.payment_intent ?? '', amount: '500' });
  const [refund] = await gateway.refunds(id);
  const created = () => webhooks.sent(refund?.id ?? '').find(({ body }) => JSON.parse(body).type === 'refund.created');
  await expect.poll(created).toBeDefined();
  return { id, webhook: created() as Webhook };
}

const BEFORE = { status: 'paid', refunds: [], held: 1800 };
const AFTER = { status: 'partially_refunded', refunds: ['provider 500'], held: 1300 };

test('a refund and a dispute that overtake the checkout: kept, run again by the worker, and shown', async ({
  page,
  webhooks,
}) => {
  const { apps, db, gateway } = webhooks;
  await page.goto(apps[0].url);
  await page.getByRole('button', { name: 'Buy Enamel mug' }).click();
  for (const [label, value] of Object.entries(ADA)) await page.getByLabel(label, { exact: true }).fill(value);
  await apps[0].holdAt('after-answer');
  await page.getByRole('button', { name: 'Place order', exact: true }).click();
  await expect.poll(async () => (await gateway.ledger()).charges.length).toBe(1);
  const [charge] = (await gateway.ledger()).charges;
  const payment = { payment_intent: charge?.payment_intent ?? '' };
  const id = charge?.metadata.order_id ?? '';
  await gateway.post('/v1/refunds', randomUUID(), { ...payment, amount: '500' });
  await gateway.dispute(payment.payment_intent);
  // Both are known to be too early: the order is still being paid.
  await expect
    .poll(() => db.inboxEvent.count({ where: { state: 'failed', lastError: { contains: 'NotYet' } } }))
    .toBe(2);
  expect(await books(webhooks, id)).toEqual({ status: 'paying', refunds: [], held: 0 });

  await apps[0].letGo();
  await page.waitForURL(`**/orders/${id}`);
  await expect.poll(() => db.inboxEvent.count({ where: { state: 'failed' } })).toBe(0);
  expect(await books(webhooks, id)).toEqual(AFTER);
  expect((await db.inboxEvent.findMany()).map(({ state }) => state)).toEqual(Array(4).fill('processed'));
  await page.reload();
  await expect(page.getByText(/The payment is disputed since/)).toBeVisible();
  await expect(page.getByText('at the payment provider')).toBeVisible();
  await expect(page.locator('[data-order-status=partially_refunded]')).toBeVisible();
});

test('forged, tampered, old, unsigned and too large: refused, and nothing is written', async ({ webhooks }) => {
  const { id, webhook } = await refundElsewhere(webhooks);
  const [{ url }, rotating] = webhooks.apps;
  const { body, signature } = webhook;
  const before = await all(webhooks);
  const refused: [string, Parameters<typeof deliver>[1], number, string][] = [
    ['no signature', { body }, 400, 'no Stripe-Signature'],
    ['no signature in it', { body, signature: 'nonsense' }, 400, 'does not fit'],
    ['an empty one', { body, signature: `${signature.split(',')[0]},v1=` }, 400, 'does not fit'],
    ['somebody else’s secret', sign(body, { secret: 'whsec_guess' }), 400, 'does not fit'],
    ['a secret that is not in use yet', sign(body, { secret: NEXT_SECRET }), 400, 'does not fit'],
    ['more money', { body: body.replace('"amount": 500', '"amount": 1800'), signature }, 400, 'does not fit'],
    ['another time', { body, signature: signature.replace(/t=\d+/, 't=1900000000') }, 400, 'does not fit'],
    ['one byte more', { body: `${body} `, signature }, 400, 'does not fit'],
    ['genuine, but old', sign(body, { ageS: 302 }), 400, 'older than'],
    ['signed, but no event', sign('{"id":"evt_1"}'), 400, 'no event'],
    ['signed, but no JSON', sign('evt_1'), 400, 'no event'],
    ['signed, but nothing', sign(''), 400, 'no event'],
    ['signed, but too large', sign(`${body}${' '.repeat(1_048_577 - body.length)}`), 413, 'larger than'],
  ];
  for (const [name, sent, status, words] of refused) {
    const answer = await deliver(url, sent);
    expect([name, answer.status]).toEqual([name, status]);
    const said = await answer.text();
    expect(said, name).toContain(words);
    expect(said.length, name).toBeLessThan(120);
  }
  expect((await fetch(`${url}/api/webhooks/payments`)).status).toBe(405);
  expect(await all(webhooks)).toEqual(before);
  expect(webhooks.apps[0].lines.join('\n')).not.toContain(JSON.parse(body).id);

  // A minute late, and under a secret that comes into use, it is as good as ever.
  expect((await deliver(url, sign(body, { ageS: 60 }))).status).toBe(204);
  expect((await deliver(rotating.url, sign(body, { secret: NEXT_SECRET }))).status).toBe(204);
  expect(await books(webhooks, id)).toEqual(AFTER);
});

test('twenty times at once over two apps, and then with another payload: one effect', async ({ webhooks }) => {
  const { id, webhook } = await refundElsewhere(webhooks);
  expect(await books(webhooks, id)).toEqual(BEFORE);
  const [first, second] = webhooks.apps;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => deliver(n % 2 ? first.url : second.url, webhook)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(204));
  expect(await books(webhooks, id)).toEqual(AFTER);
  expect(await inboxRow(webhooks, webhook)).toMatchObject({ state: 'processed', attempts: 1, mismatches: 0 });

  // Not another payload: the provider counts down in each delivery.
  const later = webhook.body.replace('"pending_webhooks": 1', '"pending_webhooks": 0');
  expect(later).not.toBe(webhook.body);
  expect((await deliver(first.url, sign(later))).status).toBe(204);
  expect(await inboxRow(webhooks, webhook)).toMatchObject({ mismatches: 0 });
  const other = webhook.body.replace('"amount": 500', '"amount": 700');
  expect((await deliver(second.url, sign(other))).status).toBe(204);
  expect(await inboxRow(webhooks, webhook)).toMatchObject({ state: 'processed', mismatches: 1 });
  const { db } = webhooks;
  const noticed = { eventId: JSON.parse(webhook.body).id as string, type: 'payload_mismatch' };
  expect(await db.messageEvent.count({ where: noticed })).toBe(1);
  expect(await books(webhooks, id)).toEqual(AFTER);
});

test('while the database is away it is not acknowledged; the next delivery counts', async ({ webhooks }) => {
  const { id, webhook } = await refundElsewhere(webhooks);
  const [, app] = webhooks.apps;
  await webhooks.cutDatabase();
  const away = await deliver(app.url, webhook);
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, '1']);
  await webhooks.restoreDatabase();
  await expect.poll(async () => (await deliver(app.url, webhook)).status).toBe(204);
  expect(await books(webhooks, id)).toEqual(AFTER);
});
