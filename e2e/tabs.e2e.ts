import type { Page } from '@playwright/test';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };
const PATH = '/examples/tabs';

const status = (page: Page) => page.locator('[role=status][data-state]');
const order = (page: Page) => page.locator('[data-order-id]');
const submit = (page: Page) => page.getByRole('button', { name: 'Place order', exact: true }).click();

test('two tabs submit at once: they share a key, one order', async ({ page, context, shop, app, network, db }) => {
  await page.goto(PATH); // one after the other: the first visit makes the session that the keys belong to
  const second = await context.newPage();
  await second.goto(PATH);
  await network.heal();
  const letGo = await app.holdAt('before-commit');
  await submit(page);
  await expect.poll(() => shop.posts()).toBe(1);
  await submit(second);
  await expect.poll(() => shop.posts()).toBe(2);
  await letGo();
  for (const tab of [page, second]) await expect(status(tab)).toHaveAttribute('data-state', 'hasSucceeded');
  expect(await order(second).getAttribute('data-order-id')).toBe(await order(page).getAttribute('data-order-id'));
  expectCounted(await shop.gained()).toEqual(ONE);
  expect(await db.idempotencyKey.count({ where: { operation: 'example.tabs' } })).toBe(1);
});

test('a tab that has sent nothing shows what another one has done', async ({ page, context, shop, network }) => {
  await page.goto(PATH); // one after the other: the first visit makes the session that the keys belong to
  const second = await context.newPage();
  await second.goto(PATH);
  await hydrated(second); // it hears of others from here on
  await network.heal();
  await submit(page);
  await expect(status(second)).toContainText('This was already placed');
  await submit(second);
  await second.getByRole('link', { name: 'Order another' }).click();
  await expect(status(second)).toHaveAttribute('data-state', 'idle');
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual(ONE);
  await submit(second);
  await expect(status(second)).toContainText('Order placed');
  expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
});

test('a tab that is opened meanwhile waits for the same answer', { tag: '@all' }, async ({
  page,
  context,
  shop,
  app,
  network,
}) => {
  await page.goto(PATH);
  await network.heal();
  const letGo = await app.holdAt('before-commit');
  await submit(page);
  await expect(status(page)).toHaveAttribute('data-state', 'executing');
  const second = await context.newPage();
  await second.goto(PATH);
  await expect(status(second)).toHaveAttribute('data-state', 'checking');
  await letGo();
  await expect(status(second)).toContainText('This was already placed');
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a duplicated tab has a copy of the storage: it asks, and sends nothing', { tag: '@all' }, async ({
  page,
  shop,
  app,
  network,
}) => {
  await page.goto('/lab'); // a form that each tab remembers for itself
  await network.heal();
  const letGo = await app.holdAt('before-commit');
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'executing');
  const opened = page.waitForEvent('popup');
  await page.evaluate(() => void window.open(location.href));
  const copy = await opened;
  await expect(status(copy)).toHaveAttribute('data-state', 'checking');
  await letGo();
  await expect(status(copy)).toContainText('This was already placed');
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('one tab gives the intent up: the other one says so, and the late request is refused', async ({
  page,
  context,
  shop,
  network,
}) => {
  await page.goto(PATH);
  await network.heal();
  await network.break({ match: { method: 'POST', path: PATH }, kind: 'lose-request', times: 50 });
  await submit(page);
  await expect(status(page)).toHaveAttribute('data-state', /unknown|retrying/);
  await page.reload(); // ends the retries; the page asks, and nobody has seen the key
  await expect(status(page)).toContainText('has not reached us');
  const second = await context.newPage();
  await second.goto(PATH);
  await expect(status(second)).toContainText('has not reached us');
  await page.getByRole('button', { name: 'Start over' }).click();
  await expect(status(page)).toHaveAttribute('data-state', 'idle');
  await expect(status(second)).toContainText('called off');
  await network.heal();
  await submit(second);
  await expect(status(second)).toHaveAttribute('data-state', 'hasSucceeded');
  // The first tab hears of it and shows it, since it has not sent anything under its new key.
  await expect(status(page)).toContainText('This was already placed');
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 2 });
});
