import { ADA } from './fixtures/shop.ts';
import { expect, holdHydration, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

test.describe('one intent, one order', () => {
  test.beforeEach(({ shop }) => shop.checkout());

  test('a single click', async ({ page, shop }) => {
    await shop.placeOrder.click();
    await page.waitForURL('**/orders/*');
    await expect(page.getByText('Ada Lovelace')).toBeVisible();
    expect(await shop.gained()).toEqual(ONE);
  });

  test('a double click', async ({ page, shop, network }) => {
    await network.heal();
    await shop.placeOrder.dblclick();
    await page.waitForURL('**/orders/*');
    expect(await shop.gained()).toEqual(ONE);
    // The second click never left the browser: the lock, not the server, swallowed it.
    expect(await shop.posts()).toBe(1);
  });

  test('Enter and a click at once', async ({ page, shop }) => {
    const click = await shop.aim();
    await page.getByLabel('City').focus();
    await Promise.all([page.keyboard.press('Enter'), click()]);
    await page.waitForURL('**/orders/*');
    expect(await shop.gained()).toEqual(ONE);
  });
});

test('two clicks before hydration, both of which reach the server', async ({ page, shop }) => {
  await shop.buy();
  const release = await holdHydration(page);
  await page.reload({ waitUntil: 'commit' });
  await shop.fillAddress();
  await shop.submitTwice();
  await page.waitForURL('**/orders/*', { waitUntil: 'commit' });
  await release();
  expect(await shop.gained()).toEqual(ONE);
});

test('a double click before hydration', async ({ page, shop }) => {
  await shop.buy();
  const release = await holdHydration(page);
  await page.reload({ waitUntil: 'commit' });
  await shop.fillAddress();
  await shop.placeOrder.dblclick({ noWaitAfter: true });
  await page.waitForURL('**/orders/*', { waitUntil: 'commit' });
  await release();
  expect(await shop.gained()).toEqual(ONE);
});

test('two tabs with the same cart', async ({ page, context, shop }) => {
  await shop.checkout();
  const second = await context.newPage();
  await second.goto(page.url());
  for (const [label, value] of Object.entries(ADA)) await second.getByLabel(label, { exact: true }).fill(value);
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  await second.getByRole('button', { name: 'Place order' }).click();
  // The other tab's form has a key of its own; what it is told is a stored refusal that leads to the one order.
  await expect(second.locator('[role=status][data-state]')).toContainText('already');
  await expect(second.getByRole('link', { name: 'View the order' })).toHaveAttribute(
    'href',
    new URL(page.url()).pathname,
  );
  expect(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 2 });
});

test('a validation error keeps what was typed and consumes no key', async ({ page, shop }) => {
  await shop.checkout();
  await page.getByLabel('Email').fill('not an address');
  await shop.placeOrder.click();
  await expect(page.getByText('Enter an e-mail address')).toBeVisible();
  await expect(page.getByLabel('City')).toHaveValue(ADA.City);
  expect(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
  await page.getByLabel('Email').fill(ADA.Email);
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  expect(await shop.gained()).toEqual(ONE);
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
  expect(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 1 });
  await db.product.update({ where: { sku: 'lamp' }, data: { stock } });
  await expect(page.getByRole('link', { name: 'Choose something else' })).toBeVisible();
});
