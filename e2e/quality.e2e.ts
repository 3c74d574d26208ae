import type { Locator } from '@playwright/test';
import { budgetOf, overBudget, routeSizes } from '../scripts/package/route-sizes.ts';
import { untilOrdered } from './fixtures/checkout-plays.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { countShifts, expectGoodPage, PHONE, tabTo } from './fixtures/page-checks.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

/** Those that need no order: one of each template, and the others. */
const PAGES = {
  first: ['/', '/checkout', '/docs/errors/payload_mismatch', '/examples/conform'],
  more: [
    ...['/mailbox', '/sign-in?error=wrong', '/receiver', '/not-there', '/docs', '/docs/errors', '/lab'],
    ...['/examples', '/examples/forms', '/examples/wild', '/examples/tabs', '/examples/react-hook-form'],
    ...['/examples/react-hook-form-rows', '/examples/tanstack-form'],
    ...['/examples/wild/bare', '/examples/wild/shelves/kitchen', '/examples/wild/modal', '/examples/wild/modal/hall'],
  ],
};

test('axe finds nothing in a page of each template, and none is wider than a phone', async ({ page }) => {
  for (const path of PAGES.first) {
    await page.goto(path);
    await expectGoodPage(page, path);
  }
});

test('forced colours leave each notice its frame, each filled button its shape, and one page of several current', async ({
  page,
}) => {
  await page.emulateMedia({ forcedColors: 'active' });
  await page.goto('/sign-in?error=wrong');
  const looks = (locator: Locator) =>
    locator.evaluate((element) => {
      const { backgroundColor, outlineStyle, textDecorationLine } = getComputedStyle(element);
      return { backgroundColor, outlineStyle, textDecorationLine };
    });
  const { backgroundColor: canvas } = await looks(page.locator('body'));
  expect((await looks(page.getByRole('main').getByRole('button'))).backgroundColor).not.toBe(canvas);
  expect((await looks(page.getByRole('alert').locator('> div'))).outlineStyle).toBe('solid');
  const decorations = await Promise.all(
    (await page.getByRole('banner').getByRole('link').all()).map(
      async (link) => (await looks(link)).textDecorationLine,
    ),
  );
  expect(decorations.filter((line) => line === 'underline')).toHaveLength(1);
});

test('axe finds nothing in any other page, and none is wider than a phone', { tag: '@all' }, async ({ page }) => {
  for (const path of PAGES.more) {
    await page.goto(path);
    await expectGoodPage(page, path);
  }
  await page.goto('/lab/lost-answer');
  await hydrated(page);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page.locator('[data-verdict=lost-answer]')).toContainText('With oncekit: 1 order, 1 charge');
  await expectGoodPage(page, 'the lab, played');
});

test('axe finds nothing in an order on its way, from the cart to the receipt of its refund', { tag: '@all' }, async ({
  page,
  shop,
  network,
}) => {
  await shop.buy();
  await shop.placeOrder.click();
  await expect(page.getByText('Enter your name.').first()).toBeVisible();
  await expectGoodPage(page, 'the checkout, refused');
  // No list and no card grows by words that are long.
  await shop.fillAddress({
    ...ADA,
    Name: `${ADA.Name} ${'n'.repeat(180)}`,
    Email: `${'m'.repeat(60)}@${'d'.repeat(60)}.example`,
    City: 'c'.repeat(200),
  });
  await network.break({ match: { method: 'POST' }, kind: 'lose-answer', times: 50 });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', 'unknown');
  await expectGoodPage(page, 'the checkout, in doubt');
  await network.heal();
  await untilOrdered(page);
  await page.getByRole('button', { name: 'Get refund' }).click();
  await expect(page.locator('[data-order-status=refunded]')).toBeVisible();
  await expectGoodPage(page, 'an order with a refund');
  await page.goto('/mailbox');
  await expect(page.locator('[data-mail=refund_receipt]')).toBeVisible();
  await expectGoodPage(page, 'the mailbox');
  expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
});

// A phone is where the form's words take most room.
for (const [where, viewport, lost] of [
  ['a desktop', { width: 1280, height: 900 }, 0],
  ['a phone', PHONE, 3],
] as const) {
  test(`the checkout stands still on ${where}, with ${lost} lost answers`, { tag: lost > 0 ? [] : '@all' }, async ({
    page,
    shop,
    network,
  }) => {
    await page.setViewportSize(viewport);
    const moved = await countShifts(page);
    await shop.checkout();
    const match = { method: 'POST', path: '/checkout' };
    if (lost > 0) await network.break({ match, kind: 'lose-answer', times: lost });
    await shop.placeOrder.click();
    await untilOrdered(page);
    const { sum, what } = moved();
    expect(what).toEqual([]);
    expect(sum).toBeLessThan(0.02);
    expectCounted(await shop.gained()).toMatchObject({ orders: 1, stockTaken: 1 });
  });
}

test('the keyboard alone buys a mug', async ({ page, shop, db, gateway }) => {
  await page.goto('/');
  await hydrated(page);
  await tabTo(page, 'Buy Enamel mug');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/checkout?cart=*');
  await expect(shop.placeOrder).toBeVisible();
  for (const [label, value] of Object.entries(ADA)) {
    await tabTo(page, label);
    await page.keyboard.type(value);
  }
  await tabTo(page, 'Place order');
  await page.keyboard.press('Enter');
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
  const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
});

test('no page makes a browser load more JavaScript than its budget', () => {
  const sizes = routeSizes();
  expect(sizes.map(({ route }) => route)).toEqual(expect.arrayContaining(['/', '/checkout', '/orders/[id]', '/lab']));
  expect(overBudget(sizes)).toEqual([]);
  expect(overBudget([{ route: '/orders/[id]', bytes: budgetOf('/orders/[id]') + 1 }])).toEqual([
    expect.stringMatching(/^\/orders\/\[id\] loads \d+ bytes.*: 1 more than/),
  ]);
});
