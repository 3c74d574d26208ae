import type { Locator, Page } from '@playwright/test';
import { doubleSubmit, loseResponse, reloadMidFlight } from 'oncekit/testing';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

/** One parcel: two products, five pieces, one order under one key. */
const PARCEL = { orders: 1, stockTaken: 5, keys: 1 };
const NONE = { orders: 0, stockTaken: 0, keys: 0 };

const names = ['react-hook-form-rows', 'tanstack-form', 'conform'];

const quantity = (page: Page, row: number): Locator => page.getByLabel('Quantity').nth(row);

/** Two rows, of which a third between them was taken out, a day, a checkbox as it is, and one choice of several. */
async function fill(page: Page): Promise<void> {
  await hydrated(page);
  await page.getByRole('button', { name: 'Add a product' }).click();
  await page.getByRole('button', { name: 'Add a product' }).click();
  await page.getByLabel('Product').nth(2).selectOption('mug');
  await page.getByRole('button', { name: 'Remove' }).nth(1).click();
  await expect(page.getByLabel('Product')).toHaveCount(2);
  await expect(page.getByLabel('Product').nth(1)).toHaveValue('mug');
  await page.getByLabel('Product').nth(0).selectOption('lamp');
  await quantity(page, 0).fill('2');
  await quantity(page, 1).fill('3');
  await page.getByLabel('Deliver on').fill('2026-12-24');
  await page.getByLabel('Extras').selectOption(['fragile']);
}

for (const name of names) {
  // The double click shows what another library makes of the same rows.
  const tag = name === 'conform' ? [] : '@all';
  test.describe(`rows with ${name}`, () => {
    test.beforeEach(async ({ page, db }) => {
      await db.product.updateMany({ data: { stock: { increment: 10 } } });
      await page.goto(`/examples/${name}`);
      await fill(page);
    });

    const isPlaced = ({ status }: { status: Locator }) => expect(status).toHaveAttribute('data-state', 'hasSucceeded');

    test('a double click makes one order of what was entered: a box that is off, one choice, a number, a day', async ({
      page,
      shop,
    }) => {
      await doubleSubmit(shop.placeOrder);
      await isPlaced(shop);
      await expect(page.getByText('2 × lamp, 3 × mug; standard on 2026-12-24; fragile')).toBeVisible();
      expectCounted(await shop.gained()).toEqual(PARCEL);
    });

    test('a checked box and several choices', { tag: '@all' }, async ({ page, shop }) => {
      await page.getByLabel('Express').check();
      await page.getByLabel('Extras').selectOption(['gift-wrapped', 'insured']);
      await shop.placeOrder.click();
      await expect(page.getByText('express on 2026-12-24; gift-wrapped, insured')).toBeVisible();
    });

    test('two lost answers: one order', { tag }, async ({ page, shop, db }) => {
      const lost = await loseResponse(page, { times: 2 });
      await shop.placeOrder.click();
      await isPlaced(shop);
      expect(lost.count).toBe(2);
      await expect(shop.status).toContainText('Already placed; this is the same order');
      expectCounted(await shop.gained()).toEqual(PARCEL);
      const row = await db.idempotencyKey.findFirstOrThrow({ orderBy: { settledAt: { sort: 'desc', nulls: 'last' } } });
      expect(row.operation).toBe(`example.${name}`);
    });

    test('reloaded while it is sent: it shows the order', { tag: '@all' }, async ({ page, shop }) => {
      await reloadMidFlight(page, () => shop.placeOrder.click());
      await expect(shop.status).toContainText('This was already placed');
      expectCounted(await shop.gained()).toEqual(PARCEL);
    });

    test('what the server refuses stands at its field, which has the focus; mended, it is sent', { tag }, async ({
      page,
      shop,
    }) => {
      await quantity(page, 1).fill('11');
      await shop.placeOrder.click();
      await expect(quantity(page, 1)).toHaveAttribute('aria-invalid', 'true');
      await expect(quantity(page, 1)).toHaveAccessibleDescription('At most ten.');
      await expect(quantity(page, 0)).not.toHaveAttribute('aria-invalid', 'true');
      await expect(quantity(page, 1)).toBeFocused();
      await expect(quantity(page, 1)).toHaveValue('11');
      expectCounted(await shop.gained()).toEqual(NONE);
      // Sent once more as it is: it is refused once more, and not stuck.
      await shop.placeOrder.click();
      await expect(quantity(page, 1)).toHaveAccessibleDescription('At most ten.');
      await quantity(page, 1).fill('3');
      await shop.placeOrder.click();
      await isPlaced(shop);
      await expect(page.getByText('At most ten.')).toHaveCount(0);
      expectCounted(await shop.gained()).toEqual(PARCEL);
    });

    test('a number and a day that are left empty are refused at their fields', { tag: '@all' }, async ({
      page,
      shop,
    }) => {
      await quantity(page, 0).fill('');
      await page.getByLabel('Deliver on').fill('');
      await shop.placeOrder.click();
      await expect(quantity(page, 0)).toHaveAttribute('aria-invalid', 'true');
      await expect(page.getByLabel('Deliver on')).toHaveAttribute('aria-invalid', 'true');
      expectCounted(await shop.gained()).toEqual(NONE);
    });

    test('without a row it is refused, and with one again it is sent', { tag: '@all' }, async ({ page, shop }) => {
      await page.getByRole('button', { name: 'Remove' }).nth(1).click();
      await page.getByRole('button', { name: 'Remove' }).click();
      await shop.placeOrder.click();
      await expect(page.getByText('Add a product.').first()).toBeVisible();
      expectCounted(await shop.gained()).toEqual(NONE);
      await page.getByRole('button', { name: 'Add a product' }).click();
      await quantity(page, 0).fill('5');
      await shop.placeOrder.click();
      await isPlaced(shop);
      expectCounted(await shop.gained()).toEqual(PARCEL);
    });
  });
}
