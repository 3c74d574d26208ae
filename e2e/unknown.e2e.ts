import { keyHref } from '../components/admin/shared/addresses.ts';
import { signIn } from './fixtures/admin.ts';
import {
  BLIND,
  expectWordsOfDoubt,
  type KeyId,
  latestKey,
  latestOrder,
  loseCharge,
  loseRefund,
  openUnknownKey,
  paymentOf,
  sayItWentThrough,
} from './fixtures/doubt.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expectGoodPage } from './fixtures/page-checks.ts';
import { picture } from './fixtures/picture.ts';
import { expect, test } from './fixtures/test.ts';

/**
 * A provider that honours no keys and cannot be asked: what became of a charge whose answer was lost, nobody can tell
 * but a person. It is charged once, whatever the shop, the worker and the shopper do meanwhile.
 */
test.use(BLIND);

test.beforeEach(({ gateway }) => gateway.offer({ keys: false, search: false }));

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
  await picture(page, 'doubt-checkout');
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
  await picture(other, 'doubt-order');
  const cartAddress = page.url();
  await other.goto(cartAddress);
  await expect(other.getByText('This cart is being paid for just now. Please do not pay again.')).toBeVisible();
  await expect(other.getByRole('button', { name: 'Place order' })).toHaveCount(0);
  await other.close();
  const payment = await paymentOf(id, gateway);

  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'checkout');
  const known = adminPage.getByRole('region', { name: 'What is known' });
  await expect(known).toContainText(/Not known since \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  // A reference of something else is recorded, and not believed.
  await sayItWentThrough(adminPage, db, 'pi_of_somebody_else');
  await expect(adminPage.getByText(/it went through \(pi_of_somebody_else\)/)).toBeVisible();
  expect(await latestOrder(db)).toMatchObject({ id, status: 'paying' });
  await sayItWentThrough(adminPage, db, payment);
  await expect(adminPage.getByText('succeeded', { exact: true })).toBeVisible();
  await expect(known).toContainText('Charged once');
  await expect(known).toContainText(
    new RegExp(`\\$[\\d.]+, ${payment}, said by .+ UTC, confirmed by the provider .+ UTC`),
  );

  // The form, which has asked all the while, hears of it.
  await page.waitForURL(`**/orders/${id}`);
  await expect(page.getByText(/^Charged once/)).toBeVisible();
  expectCounted(await gateway.charges(id)).toHaveLength(1);
});

test('a declined card is no doubt: its form, its order and its key say so', async ({ page, shop, gateway, db }) => {
  await shop.checkout();
  await page.getByLabel('Payment method').selectOption('pm_card_chargeDeclined');
  await shop.placeOrder.click();
  await expect(shop.status).toContainText(/declined.* Nothing was charged/);
  const { id } = await latestOrder(db);
  await page.goto(`/orders/${id}`);
  await expect(page.getByRole('main')).toContainText('Your card was declined and nothing was charged.');
  await signIn(page);
  await page.goto(keyHref((await latestKey(db, 'checkout')) as KeyId));
  const known = page.getByRole('region', { name: 'What is known' });
  await expect(known).toContainText(/Not charged.*Refused by the provider \(card_declined\)/);
  await expect(page.getByRole('main')).not.toContainText(/not known|may have/i);
  await expectGoodPage(page, 'the key of a declined card');
  await picture(page, 'doubt-declined');
  expectCounted(await gateway.charges(id)).toEqual([]);
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
      'Your order may have gone through. Please do not pay again',
    );
    await expect(page.getByRole('alert').first()).toBeInViewport();
    await expect(page.getByText('Please do not pay again').filter({ visible: true })).toHaveCount(1);
    await expect(shop.placeOrder).toHaveCount(0);
    await expect(page.getByRole('link', { name: 'View the order' })).toBeVisible();
    await expect(page).toHaveTitle(/^Checkout/);
    await picture(page, 'doubt-plain');
    const { id } = await latestOrder(db);
    await page.waitForURL(`**/orders/${id}`);
    await expect(page.getByRole('heading', { name: 'We are finding out whether you were charged' })).toBeVisible();
    await page.getByRole('link', { name: 'Check again' }).click();
    await expect(page.getByRole('heading', { name: 'We are finding out whether you were charged' })).toBeVisible();
    expectCounted(await gateway.charges(id)).toHaveLength(1);
  });
});
