import { randomUUID } from 'node:crypto';
import { MUG } from './fixtures/api-client.ts';
import { postOrder } from './fixtures/api-orders.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

test('the server dies in the middle of the charge: the page ends with one order, charged once', async ({
  page,
  shop,
  app,
  gateway,
  db,
}) => {
  await shop.checkout();
  await gateway.break({ path: '/v1/payment_intents', kind: 'latency', ms: 1500 });
  await shop.placeOrder.click();
  const order = async () => db.order.findFirst({ where: { status: 'paying' }, orderBy: { createdAt: 'desc' } });
  await expect.poll(async () => gateway.charges((await order())?.id ?? 'none').then(({ length }) => length)).toBe(1);
  const id = (await order())?.id ?? '';
  app.kill();
  await app.untilHealthy();
  await page.reload();
  // Whatever finishes it, a worker or the page's own question, the customer hears of the order.
  await expect.poll(async () => (await db.order.findUnique({ where: { id } }))?.status).toBe('paid');
  await page.goto(`/orders/${id}`);
  await expect(page.getByText(/^Charged once/)).toBeVisible();
  await expect(page.getByText(/^\$[\d.]+, pi_\w+, (answered|found by asking) .+ UTC\.$/)).toBeVisible();
  await expect(page.getByText(id)).toBeVisible();
  expectCounted(await gateway.charges(id)).toHaveLength(1);
  expectCounted(await shop.gained()).toMatchObject({ orders: 1, stockTaken: 1 });
});

test('a declined card is an answer that stays, and another card pays for the same cart', async ({
  page,
  shop,
  gateway,
  db,
}) => {
  await shop.checkout();
  await page.getByLabel('Payment method').selectOption('pm_card_chargeDeclined');
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasErrored');
  await expect(shop.status).toContainText(/declined/i);
  expectCounted((await shop.gained()).stockTaken).toBe(0);
  await page.getByLabel('Payment method').selectOption('pm_card_visa');
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const id = page.url().split('/').at(-1) ?? '';
  expect(await db.order.findUnique({ where: { id } })).toMatchObject({ status: 'paid' });
  expectCounted(await gateway.charges(id)).toHaveLength(1);
  expectCounted((await shop.gained()).stockTaken).toBe(1);
});

test('a refund gives back once, also when its answer is lost', async ({ page, shop, gateway, network, db }) => {
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const orderId = page.url().split('/').at(-1) ?? '';
  const amount = page.getByLabel(/^Amount/);
  const paid = await amount.inputValue();
  await amount.fill('99.00');
  await page.getByRole('button', { name: 'Get refund' }).click();
  await expect(amount).toHaveAttribute('aria-invalid', 'true');
  await expect(amount).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('button', { name: 'Get refund' })).toBeFocused();
  await amount.fill(paid);
  await network.break({ match: { method: 'POST' }, kind: 'lose-answer', times: 1 });
  await page.getByRole('button', { name: /refund/i }).click();
  await expect.poll(() => db.refund.count({ where: { orderId, status: 'succeeded' } })).toBe(1);
  await expect(page.locator('[data-order-status=refunded]')).toBeVisible();
  expectCounted(await gateway.refunds(orderId)).toHaveLength(1);
});

test('a card that is declined at the API is refused as such, also after a page has charged one', async ({
  page,
  shop,
  app,
}) => {
  // The process has one client of the provider, and the page made it.
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const answer = await postOrder(app.url, randomUUID(), { ...MUG, payment_method: 'pm_card_chargeDeclined' });
  expect([answer.status, await answer.json()]).toMatchObject([402, { reason: 'card_declined' }]);
});
