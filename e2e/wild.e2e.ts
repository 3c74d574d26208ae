import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';
import { button, formOf, NONE, ONE, ordered, statusIn, TO_WILD, WILD } from './fixtures/wild.ts';

/** Forms beside what else is on real pages (app/examples/wild), and what they do to the database. */

test('A1 Enter in a form in a portal saves the address, and orders nothing', async ({ page, shop }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form in a portal');
  await button(form, 'Change the address').click();
  await page.getByLabel('City').fill('London');
  await page.keyboard.press('Enter');
  await expect(form).toContainText('To London');
  await expect(statusIn(form)).toHaveAttribute('data-state', 'idle');
  expectCounted(await shop.gained()).toEqual(NONE);
  await button(form, 'Order').click();
  await ordered(form);
  await button(form, 'Change the address').click();
  await page.getByLabel('City').fill('Paris');
  await ordered(form);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('A1 a dialog’s cancel closes it, and orders nothing', async ({ page, shop }) => {
  await page.goto(WILD);
  const open = button(page, 'Open the dialog');
  const dialog = page.getByRole('dialog', { name: 'Order mugs' });
  await open.click();
  await button(dialog, 'Cancel').click();
  await expect(dialog).toBeHidden();
  expect(await page.locator('dialog').evaluate((each: HTMLDialogElement) => each.returnValue)).toBe('cancelled');
  expectCounted(await shop.gained()).toEqual(NONE);
  await open.click();
  await button(dialog, 'Order').click();
  await ordered(dialog);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('B7 a translated page says what is so, and survives an edit', async ({ page, shop }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A translator');
  await button(form, 'Translate the page').click();
  await expect(form.locator('font').first()).toBeAttached();
  await button(form, 'Order').click();
  await ordered(form);
  await expect(statusIn(form)).toHaveText('It went through.');
  await form.getByLabel('Quantity').fill('2');
  await expect(statusIn(form)).toHaveText('');
  await button(form, 'Order').click();
  await expect(statusIn(form)).toHaveText('It went through.');
  expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 3, keys: 2 });
});

test('React’s own states are pending until the first attempt has ended, and links work behind that', async ({
  page,
  shop,
  network,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'React’s own states');
  await network.break({ match: TO_WILD, kind: 'delay', ms: 3000, times: 1 });
  await button(form, 'Order').click();
  await expect(button(form, 'Ordering…')).toBeVisible();
  await expect(form).toContainText('Ordered: 1');
  await ordered(form);
  await expect(button(form, 'Order')).toBeVisible();
  await expect(form).toContainText('Ordered: 1');
  await form.getByLabel('Quantity').fill('2');
  // At every address: a retry that waits behind the navigation goes to the page that it leads to.
  await network.break({ match: { method: 'POST' }, kind: 'lose-request', times: 50 });
  await button(form, 'Order').click();
  await expect(statusIn(form)).toContainText('Trying again');
  await expect(button(form, 'Order')).toBeVisible();
  await page.getByRole('link', { name: 'All examples' }).click();
  await expect(page).toHaveURL(/\/examples$/);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('B5 a browser that is wrong about being offline keeps nothing back', async ({ page, shop }) => {
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, 'onLine', { get: () => false }));
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  await button(form, 'Order').click();
  await ordered(form);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('B5 what is sent offline right after the page’s load goes out by itself when the network is back', async ({
  page,
  context,
  shop,
}) => {
  await page.goto(WILD, { waitUntil: 'commit' });
  const form = formOf(page, 'A form at the page’s end');
  await page.waitForFunction(() => Object.keys(document.forms[0] ?? {}).some((name) => name.startsWith('__react')));
  await context.setOffline(true);
  await button(form, 'Order').click();
  await expect(statusIn(form)).toHaveAttribute('data-state', /unknown|offline/);
  await context.setOffline(false);
  await ordered(form);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('A10 what a form finds out by itself does not move the page', async ({ page, shop, network }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  await network.break({ match: TO_WILD, kind: 'lose-answer', times: 50 });
  await button(form, 'Order').click();
  await expect.poll(async () => (await shop.gained()).orders).toBe(1);
  await page.goto('/examples');
  await page.goto(WILD);
  await ordered(form);
  expect(await page.evaluate(() => window.scrollY)).toBe(0);
  expectCounted(await shop.gained()).toEqual(ONE);
});
