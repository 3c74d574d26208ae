import { expectCounted } from './fixtures/expect-counted.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

test.describe('one intent, one order', () => {
  test.beforeEach(({ shop }) => shop.checkout());

  test('a single click', async ({ page, shop }) => {
    await shop.placeOrder.click();
    await page.waitForURL('**/orders/*');
    await expect(page.getByText('Ada Lovelace')).toBeVisible();
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('Enter and a click at once', async ({ page, shop }) => {
    const click = await shop.aim();
    await page.getByLabel('City').focus();
    await Promise.all([page.keyboard.press('Enter'), click()]);
    await page.waitForURL('**/orders/*');
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});

test('two more browsers have the cart open, under keys of their own: each shows the first one’s order', async ({
  page,
  context,
  browser,
  network,
  shop,
}) => {
  await shop.checkout();
  const storageState = await context.storageState();
  const open = async (fields: typeof ADA) => {
    const there = await browser.newContext({ storageState, baseURL: network.url });
    const tab = await there.newPage();
    await tab.goto(page.url());
    for (const [label, value] of Object.entries(fields)) await tab.getByLabel(label, { exact: true }).fill(value);
    return tab;
  };
  const same = await open(ADA);
  const edited = await open({ ...ADA, City: 'Paris' });
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  await same.getByRole('button', { name: 'Place order' }).click();
  await same.waitForURL(page.url());
  await edited.getByRole('button', { name: 'Place order' }).click();
  await expect(edited.getByText('This order is already placed')).toBeVisible();
  await expect(edited.getByRole('link', { name: 'View the order' })).toHaveAttribute(
    'href',
    new URL(page.url()).pathname,
  );
  expectCounted(await shop.gained()).toEqual(ONE);
  for (const tab of [same, edited]) await tab.context().close();
});

test('a validation error keeps what was typed and consumes no key', async ({ page, shop }) => {
  await shop.checkout();
  await page.getByLabel('Email').fill('not an address');
  await shop.placeOrder.click();
  await expect(page.getByText('Enter an e-mail address').first()).toBeVisible();
  await expect(page.getByLabel('City')).toHaveValue(ADA.City);
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
  await page.getByLabel('Email').fill(ADA.Email);
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('sold out meanwhile: a refusal in words, which the same key replays', async ({ page, shop, db, network }) => {
  await shop.checkout('Desk lamp');
  const { stock } = await db.product.findUniqueOrThrow({ where: { sku: 'lamp' } });
  await db.product.update({ where: { sku: 'lamp' }, data: { stock: 0 } });
  await shop.recount();
  // The refusal is lost on its way, so that the browser asks for it again with the same key.
  await network.break({ match: { method: 'POST' }, kind: 'lose-answer', times: 1 });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasErrored');
  await expect(shop.status).toContainText('Desk lamp has just sold out');
  const key = await db.idempotencyKey.findFirstOrThrow({ orderBy: { claimedAt: 'desc' } });
  expect(key.state).toBe('failed');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 1 });
  await db.product.update({ where: { sku: 'lamp' }, data: { stock } });
  await expect(page.getByRole('link', { name: 'Choose something else' })).toBeVisible();
});
