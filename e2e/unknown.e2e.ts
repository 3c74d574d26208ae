import type { Page } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { signIn } from './fixtures/admin.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { GatewayProcess } from './fixtures/gateway-process.ts';
import { axeFinds, expectGoodPage } from './fixtures/page-checks.ts';
import { ADA, type Shop } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';
import { deliver, sign } from './fixtures/webhooks.ts';

/**
 * A provider that honours no keys and cannot be asked: what became of a charge whose answer was lost, nobody can tell
 * but a person. It is charged once, whatever the shop, the worker and the shopper do meanwhile.
 */
test.use({ appEnv: { STRIPE_KEY_TTL_MS: '0', STRIPE_LOOKUP: 'off' } });

test.beforeEach(({ gateway }) => gateway.forgetEverything());

type KeyId = Record<'tenant' | 'principal' | 'operation' | 'key', string>;

const latestOrder = (db: Client) => db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
const latestKey = (db: Client, operation: string) =>
  db.idempotencyKey.findFirst({ where: { operation }, orderBy: { claimedAt: 'desc' } });

/** The key's page in the admin view, found by its state. */
async function openUnknownKey(page: Page, db: Client, operation: string): Promise<void> {
  await expect.poll(async () => (await latestKey(db, operation))?.state).toBe('unknown');
  const key = (await latestKey(db, operation))?.key ?? '';
  await signIn(page);
  // Found in two clicks, decided in two more.
  await page.getByRole('list', { name: 'Counts' }).getByRole('link', { name: 'unknown' }).click();
  await expect(page).toHaveURL(/state=unknown/);
  await page.getByRole('row', { name: key }).getByRole('link', { name: key }).click();
  await expect(page.getByRole('heading', { name: 'What happened at the provider?' })).toBeVisible();
}

/** The charge of a checkout is made, and its answer lost. */
async function loseCharge(shop: Shop, gateway: GatewayProcess): Promise<void> {
  await shop.checkout();
  await gateway.break({ path: '/v1/payment_intents', kind: 'lose-answer' });
  await shop.placeOrder.click();
}

/** The form says that it may have gone through, and has what helps: none of it can pay once more. */
async function expectWordsOfDoubt(page: Page, shop: Shop): Promise<void> {
  await expect(shop.status).toContainText('Your order may have gone through. Please do not pay again');
  await expect(page.getByRole('button', { name: 'Check again' })).toBeVisible();
  await expect(shop.placeOrder).toHaveCount(0);
  await expect(page.getByRole('heading', { name: 'Your cart' })).toHaveCount(0);
  await expect(page.getByText(/lost the connection|have no answer/)).toHaveCount(0);
}

/** An order is paid, and the refund that is asked for is lost on its way. Returns the order's id. */
async function loseRefund(page: Page, { shop, gateway, db }: { shop: Shop; gateway: GatewayProcess; db: Client }) {
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const { id } = await latestOrder(db);
  await gateway.break({ path: '/v1/refunds', kind: 'error-before' });
  await page.getByRole('button', { name: /refund/i }).click();
  return id;
}

/** Says that the charge went through. A completer may act on an earlier word meanwhile: that is no reason to look again. */
async function sayItWentThrough(adminPage: Page, db: Client, reference: string): Promise<void> {
  await adminPage.getByLabel('Reference at the provider').fill(reference);
  await adminPage.getByRole('button', { name: 'It went through' }).click();
  const said = { type: 'verdict', detail: { path: ['reference'], equals: reference } };
  await expect.poll(() => db.idempotencyAudit.count({ where: said })).toBe(1);
}

test('a lost charge waits for a person, who gives its reference: paid, charged once', async ({
  page,
  shop,
  gateway,
  db,
}) => {
  await loseCharge(shop, gateway);
  await expectWordsOfDoubt(page, shop);
  const { id } = await latestOrder(db);
  await expect(page.getByRole('link', { name: 'View the order' })).toHaveAttribute('href', `/orders/${id}`);
  // What had the focus is gone: the message has it.
  await expect(page.locator(':focus')).toContainText('Please do not pay again');
  await expectGoodPage(page, 'a checkout in doubt');
  await page.reload();
  await expectWordsOfDoubt(page, shop);
  await page.getByRole('button', { name: 'Check again' }).click();
  await expectWordsOfDoubt(page, shop);
  const other = await page.context().newPage();
  await other.goto(`/orders/${id}`);
  await expect(other.getByRole('heading', { level: 1 })).toHaveText('We are finding out whether you were charged');
  await expect(other.getByRole('main')).toContainText('Please do not pay again');
  await expect(other.getByRole('main')).not.toContainText(/at most once/);
  await expectGoodPage(other, 'an order in doubt');
  const cartAddress = page.url();
  await other.goto(cartAddress);
  await expect(other.getByText('This cart is being paid for just now. Please do not pay again.')).toBeVisible();
  await expect(other.getByRole('button', { name: 'Place order' })).toHaveCount(0);
  await other.close();
  const [charge] = await gateway.charges(id);

  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'checkout');
  const known = adminPage.getByRole('region', { name: 'What is known' });
  await expect(known).toContainText(/Not known since \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  // A reference of something else is recorded, and not believed.
  await sayItWentThrough(adminPage, db, 'pi_of_somebody_else');
  await expect(adminPage.getByText(/it went through \(pi_of_somebody_else\)/)).toBeVisible();
  expect(await latestOrder(db)).toMatchObject({ id, status: 'paying' });
  await sayItWentThrough(adminPage, db, charge?.payment_intent ?? '');
  await expect(adminPage.getByText('succeeded', { exact: true })).toBeVisible();
  await expect(known).toContainText('Charged once');
  await expect(known).toContainText(
    new RegExp(`\\$[\\d.]+, ${charge?.payment_intent}, said by .+ UTC, confirmed by the provider .+ UTC`),
  );

  // The form, which has asked all the while, hears of it.
  await page.waitForURL(`**/orders/${id}`);
  await expect(page.getByText(/^Charged once/)).toBeVisible();
  expectCounted(await gateway.charges(id)).toHaveLength(1);
});

/** The provider's word, which it has kept for so long, that the order's first charge was made. */
async function sayCharged(app: { url: string }, order: { id: string; amountCents: number }, payment: string, more = 0) {
  const amount = { amount: order.amountCents + more, amount_received: order.amountCents, currency: 'usd' };
  const intent = { id: payment, object: 'payment_intent', ...amount, metadata: { order_id: order.id } };
  const event = { id: `evt_${order.id}`, object: 'event', type: 'payment_intent.succeeded', data: { object: intent } };
  expect((await deliver(app.url, sign(JSON.stringify(event)))).status).toBe(204);
}

test('a lost charge that a person gave up and the provider then tells of: seen on the first admin page, and given back', async ({
  page,
  shop,
  app,
  gateway,
  db,
}) => {
  await loseCharge(shop, gateway);
  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'checkout');
  const given = await latestOrder(db);
  await adminPage.getByText('It did not happen and shall not').click();
  await adminPage.getByRole('button', { name: 'It shall not happen' }).click();
  await expect.poll(async () => (await latestOrder(db)).status).toBe('payment_failed');
  // It is bought again: charged twice, which nobody knows.
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const bought = await latestOrder(db);
  const [charge] = await gateway.charges(given.id);
  await sayCharged(app, given, charge?.payment_intent ?? '');
  expect(await db.idempotencyKey.findFirst({ where: { key: given.idempotencyKey ?? '' } })).toMatchObject({
    state: 'failed',
    needsAttention: true,
  });

  await adminPage.goto('/admin/keys');
  await expect(adminPage.getByRole('alert').filter({ hasText: 'Money that nobody expected: 1' })).toBeVisible();
  await adminPage.getByRole('link', { name: 'Look at it' }).click();
  const money = adminPage.getByRole('region', { name: /was paid, and no order expects it/ });
  await expect(money).toContainText(charge?.payment_intent ?? '');
  await expect(money.getByRole('link', { name: given.id })).toBeVisible();
  expect(await axeFinds(adminPage)).toEqual([]);
  await money.getByText('Refund it…').click();
  await money.getByRole('button', { name: /^Refund \$/ }).click();
  await expect(adminPage.getByText('Given back, once.')).toBeVisible();
  await expect(adminPage.getByText('All money is where it ought to be.')).toBeVisible();
  const kept = async (id: string) => (await gateway.charges(id)).length - (await gateway.refunds(id)).length;
  expectCounted([await kept(given.id), await kept(bought.id)]).toEqual([0, 1]);

  await page.goto(`/orders/${given.id}`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('We could not confirm this payment');
  await expect(page.locator('[data-refund-status=succeeded]')).toContainText('of a payment that we did not expect');
  await expect(page.getByRole('main')).not.toContainText(/declined|nothing was charged/i);
});

test('whose money is in doubt stands first, and what was heard of it is overruled by no click', async ({
  page,
  shop,
  app,
  gateway,
  db,
}) => {
  await loseCharge(shop, gateway);
  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'checkout');
  await page.close();
  const order = await latestOrder(db);
  const [charge] = await gateway.charges(order.id);
  const panel = adminPage.getByRole('region', { name: 'What happened at the provider?' });
  const facts = [order.id, '$18.00', `${ADA.Name} (${ADA.Email})`, / UTC \(\d+ (second|minute)s? ago\)/];
  for (const text of facts) await expect(panel.getByRole('definition').filter({ hasText: text }).first()).toBeVisible();
  const [first, ...others] = await panel.getByRole('button').allTextContents();
  expect([first, ...others]).toEqual(['Copy', 'It went through']);
  await expect(panel.getByText('Nobody can be asked from here')).toBeVisible();
  await expectGoodPage(adminPage, 'a call in doubt');

  // Of another amount than was sent: words alone, which nobody can be asked about.
  const payment = charge?.payment_intent ?? '';
  await sayCharged(app, order, payment, 1);
  await adminPage.reload();
  await expect(panel.getByText(`stripe says: payment_intent.succeeded ${payment}`)).toBeVisible();
  for (const [summary, button] of [
    ['It did not happen and shall not', 'It shall not happen'],
    ['I have checked that it did not happen: send it', 'Send it again'],
  ] as const) {
    await panel.getByText(summary).click();
    await panel.getByRole('button', { name: button }).click();
    await expect(panel.locator('details', { hasText: summary }).getByLabel(/^Type .* to overrule/)).toBeFocused();
  }
  await expectGoodPage(adminPage, 'a call that was heard of');
  expect(await db.idempotencyAudit.count({ where: { key: order.idempotencyKey ?? '' } })).toBe(0);
  await panel.getByLabel('Reference at the provider').fill(payment);
  await panel.getByRole('button', { name: 'It went through' }).click();
  await expect.poll(async () => (await latestOrder(db)).status).toBe('paid');
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
});

test('a lost refund waits for a person, who says that it shall not happen: nothing is given back', {
  tag: '@all',
}, async ({ page, shop, gateway, db }) => {
  const id = await loseRefund(page, { shop, gateway, db });

  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'refund');
  await adminPage.getByText('It did not happen and shall not').click();
  await adminPage.getByRole('button', { name: 'It shall not happen' }).click();
  await expect(adminPage.getByText('failed', { exact: true })).toBeVisible();

  expect(await db.refund.findMany({ where: { orderId: id } })).toMatchObject([{ status: 'failed' }]);
  expect(await latestOrder(db)).toMatchObject({ id, status: 'paid' });
  expectCounted(await gateway.refunds(id)).toEqual([]);
  // What was set aside is free again. The form, which has asked all the while, hears of it: until then it is locked.
  await expect(shop.status).toHaveAttribute('data-state', 'hasErrored');
  await page.goto(`/orders/${id}`);
  await page.getByRole('button', { name: /refund/i }).click();
  await expect(page.locator('[data-order-status=refunded]')).toBeVisible();
  expectCounted(await gateway.refunds(id)).toHaveLength(1);
});

test('what was heard of a lost refund stands first, and is overruled by who types its name, with JavaScript and without', async ({
  browser,
  page,
  shop,
  gateway,
  db,
}) => {
  const orderId = await loseRefund(page, { shop, gateway, db });
  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'refund');
  await page.close();
  const { tenant, principal, operation, key } = (await latestKey(db, 'refund')) as KeyId;
  const heard = { type: 'evidence', actor: 'stripe', detail: { said: 'refund.updated re_heard' } };
  await db.idempotencyEvent.create({ data: { tenant, principal, operation, key, ...heard } });
  const address = adminPage.url();
  const verdicts = () => db.idempotencyAudit.count({ where: { key, type: 'verdict' } });

  await adminPage.goto(address);
  await expect(adminPage.getByText(/stripe says: refund.updated re_heard at .* UTC/)).toBeVisible();
  const refusing = adminPage.locator('details', { hasText: 'It did not happen and shall not' });
  await refusing.locator('summary').click();
  const typed = refusing.getByLabel('Type refund.updated re_heard to overrule what was heard');
  await expectGoodPage(adminPage, 'a call that was heard of');
  await refusing.getByRole('button').click();
  await expect(typed).toBeFocused(); // asked for by the browser
  await typed.fill('re_heard');
  await refusing.getByRole('button').click();
  await expect(adminPage.getByText('your word overrules: refund.updated re_heard')).toBeVisible();
  await expect(typed).toHaveAttribute('aria-invalid', 'true');
  await expect(typed).toHaveValue('re_heard');
  await expectGoodPage(adminPage, 'a verdict that was refused');

  const storageState = await adminPage.context().storageState();
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState });
  const plainPage = await plain.newPage();
  await plainPage.goto(address);
  const again = plainPage.locator('details', { hasText: 'It did not happen and shall not' });
  const plainTyped = again.getByLabel('Type refund.updated re_heard to overrule what was heard');
  await again.locator('summary').click();
  await plainTyped.fill('re_heard');
  await again.getByRole('button').click();
  await expect(again.getByText('That is not refund.updated re_heard.')).toBeVisible();
  await expect(plainTyped).toHaveValue('re_heard');
  expect(await verdicts()).toBe(0);
  await plainTyped.fill('refund.updated re_heard');
  await again.getByRole('button').click();
  await expect(plainPage.getByText('failed', { exact: true })).toBeVisible();
  await plain.close();
  expect(await verdicts()).toBe(1);
  expect(await db.refund.findMany({ where: { orderId } })).toMatchObject([{ status: 'failed' }]);
  expectCounted(await gateway.refunds(orderId)).toEqual([]);
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('a lost charge is said at the top of the page, which leads to its order by itself', { tag: '@all' }, async ({
    page,
    shop,
    gateway,
    db,
  }) => {
    await loseCharge(shop, gateway);
    await expect(page.getByRole('alert').first()).toContainText(
      'It may have gone through. Please do not send it again',
    );
    await expect(page.getByRole('alert').first()).toBeInViewport();
    await expect(shop.placeOrder).toHaveCount(0);
    await expect(page.getByRole('link', { name: 'View the order' })).toBeVisible();
    await expect(page).toHaveTitle(/^Checkout/);
    const { id } = await latestOrder(db);
    await page.waitForURL(`**/orders/${id}`);
    await expect(page.getByRole('heading', { name: 'We are finding out whether you were charged' })).toBeVisible();
    await page.getByRole('link', { name: 'Check again' }).click();
    await expect(page.getByRole('heading', { name: 'We are finding out whether you were charged' })).toBeVisible();
    expectCounted(await gateway.charges(id)).toHaveLength(1);
  });
});
