import { randomUUID } from 'node:crypto';
import { enter } from './fixtures/admin.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

test.use({ javaScriptEnabled: false });

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

test('a single submit ends on the order page', async ({ page, shop }) => {
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  await expect(page.getByText('Ada Lovelace')).toBeVisible();
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a validation error keeps what was typed and consumes no key', async ({ page, shop }) => {
  await shop.checkout();
  await page.getByLabel('Email').fill('not an address');
  await shop.placeOrder.click();
  await expect(page).toHaveTitle(/^Error: Checkout/);
  await expect(page.getByRole('alert').first().getByRole('link')).toHaveText(/^Enter an e-mail address/);
  await expect(page.getByRole('alert').first()).toBeInViewport();
  await expect(page.getByLabel('City')).toHaveValue(ADA.City);
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
  await page.getByLabel('Email').fill(ADA.Email);
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a stored refusal keeps what was typed, and the next submit is a new intent', async ({ page, shop, db }) => {
  await shop.checkout('Notebook');
  const { stock } = await db.product.findUniqueOrThrow({ where: { sku: 'notebook' } });
  await db.product.update({ where: { sku: 'notebook' }, data: { stock: 0 } });
  await shop.placeOrder.click();
  await expect(shop.status).toContainText('Notebook has just sold out');
  await expect(page).toHaveTitle(/^Error: Checkout/);
  await expect(page.getByRole('alert').first()).toContainText('Notebook has just sold out');
  await expect(page.getByLabel('City')).toHaveValue(ADA.City);
  await db.product.update({ where: { sku: 'notebook' }, data: { stock } });
  await shop.recount();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('the same key with other values shows the first order and a way to a fresh form', async ({ page, shop }) => {
  await page.goto('/lab');
  const form = page.locator('form', { has: shop.orderInLab });
  // The message at the top leads to the field.
  await form.getByLabel('Quantity').fill('99');
  await shop.orderInLab.click();
  await page.getByRole('alert').first().getByRole('link', { name: 'At most ten.' }).click();
  await expect(form.getByLabel('Quantity')).toBeFocused();
  await page.goto('/lab');
  const key = (await form.locator('input[name=idempotency_key]').getAttribute('value')) ?? '';
  await shop.orderInLab.click();
  await expect(page.locator('[data-order-id]')).toBeVisible();
  const order = await page.locator('[data-order-id]').getAttribute('data-order-id');
  await page.route('**/lab', async (route) => {
    const answer = await route.fetch();
    const fresh = /name="idempotency_key"[^>]*value="([^"]+)"/;
    const body = (await answer.text()).replace(fresh, (field, value) => field.replace(value, key));
    await route.fulfill({ response: answer, body });
  });
  await page.goto('/lab');
  await page.unroute('**/lab');
  await form.getByLabel('Quantity').fill('2');
  await shop.orderInLab.click();
  await expect(form).toContainText('already sent with other values');
  await expect(form.getByRole('link', { name: 'The first submission placed this order.' })).toHaveAttribute(
    'href',
    `/orders/${order}`,
  );
  await expect(form.getByRole('link', { name: 'Open a fresh form' })).toBeVisible();
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('an order that is not finished is asked for by a link, and an amount that was entered stays', async ({
  page,
  shop,
  db,
}) => {
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const id = page.url().split('/').at(-1) ?? '';
  const { tenant, principal } = await db.order.findUniqueOrThrow({ where: { id } });
  const refund = { id: randomUUID(), orderId: id, tenant, principal, amountCents: 500 };
  await db.refund.create({ data: { ...refund, source: 'provider', status: 'pending' } });
  await page.reload();
  await expect(page.getByText('Under way')).toBeVisible();
  await expect(page.getByLabel(/^Amount/)).toBeVisible();
  await expect(page.getByRole('link', { name: 'Check again' })).toBeVisible();
  await expect(page.locator('meta[http-equiv=refresh]')).toHaveCount(0);
});

test('what is not there is a 404 in words, and "sign in first" a redirect, before anything is shown', async ({
  page,
  request,
  app,
}) => {
  const gone = {
    '/orders/nobody-has-this': 'It may be somebody else’s, or it was never there.',
    '/docs/nobody-wrote-this': 'No page of the docs has this address.',
    '/lab/nobody-plays-this': 'No page has this address.',
  };
  for (const who of ['a shopper', 'an admin']) {
    if (who === 'an admin') await enter(page, app);
    for (const [path, words] of Object.entries(gone)) {
      expect((await page.goto(path))?.status(), `${path} for ${who}`).toBe(404);
      await expect(page.getByRole('main'), `${path} for ${who}`).toContainText(words);
    }
  }
  await page.goto('/checkout?cart=nobody-has-this');
  // By the browser: what stands in <noscript> is no text to Playwright.
  expect(await page.getByRole('main').innerText()).toContain('This cart belongs to another visit');
  const adminPage = await request.get('/admin/keys', { maxRedirects: 0 });
  expect([adminPage.status(), adminPage.headers().location]).toEqual([307, '/admin/sign-in?next=%2Fadmin%2Fkeys']);
});

test('the admin view promises nothing that it cannot do, and says by itself what is not there', async ({
  page,
  app,
}) => {
  await enter(page, app);
  await page.goto('/admin/keys');
  await expect(page.getByText('Reload this page to see what is new.')).toBeVisible();
  await expect(page.getByText('Updates by itself.')).toBeHidden();
  expect((await page.goto('/admin/not-there'))?.status()).toBe(404);
  await expect(page.getByRole('main').getByRole('link', { name: 'All keys' })).toBeVisible();
});
