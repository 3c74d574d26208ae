import type { Locator, Page } from '@playwright/test';
import { doubleSubmit, expectExactlyOne, goOffline, loseResponse, reloadMidFlight } from 'oncekit/testing';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, holdHydration, hydrated, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };
const NONE = { orders: 0, stockTaken: 0, keys: 0 };

/** `ownsForm`: the library takes the form over. Where it does not, the form is the kit's own, as in the lab. */
const examples = [
  { name: 'react-hook-form', ownsForm: true },
  { name: 'tanstack-query', ownsForm: true },
  { name: 'next-safe-action', ownsForm: false },
].map((one) => ({ ...one, path: `/examples/${one.name}` }));

function quantity(page: Page): Locator {
  return page.getByLabel('Quantity');
}

/** The database's content, as the page says it. */
function counted(page: Page): Locator {
  return page.locator('[data-count=example]');
}

for (const { name, path, ownsForm } of examples) {
  // One has the whole row; what another library makes of it shows in a double click.
  const tag = name === 'react-hook-form' ? [] : '@all';
  test.describe(`with ${name}`, () => {
    const succeeded = ({ status }: { status: Locator }) => expect(status).toHaveAttribute('data-state', 'hasSucceeded');

    test('a double click makes one order, and a second order is another intent', async ({
      page,
      shop,
      network,
      db,
    }) => {
      await page.goto(path);
      await hydrated(page);
      await network.heal();
      await expectExactlyOne(
        () => db.order.count(),
        async () => {
          await doubleSubmit(shop.placeOrder);
          await succeeded(shop);
        },
      );
      await expect(page.locator('[data-order-id]')).toBeVisible();
      await expectCounted(counted(page)).toHaveText('1');
      expect(await shop.posts()).toBe(1);
      expectCounted(await shop.gained()).toEqual(ONE);

      await page.getByRole('link', { name: 'Order another' }).click();
      await expect(shop.status).toHaveAttribute('data-state', 'idle');
      await shop.placeOrder.click();
      await succeeded(shop);
      await expectCounted(counted(page)).toHaveText('2');
      expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
    });

    test('two lost answers: the same key is sent again, one order', { tag }, async ({ page, shop, db }) => {
      await page.goto(path);
      const lost = await loseResponse(page, { times: 2 });
      await shop.placeOrder.click();
      await succeeded(shop);
      expect(lost.count).toBe(2);
      await expect(shop.status).toContainText('Already placed; this is the same order');
      await expectCounted(counted(page)).toHaveText('1');
      expectCounted(await shop.gained()).toEqual(ONE);
      const row = await db.idempotencyKey.findFirstOrThrow({ orderBy: { settledAt: { sort: 'desc', nulls: 'last' } } });
      expect(row.operation).toBe(`example.${name}`);
    });

    test('reloaded while it is sent: it shows the order', { tag }, async ({ page, shop }) => {
      await page.goto(path);
      await reloadMidFlight(page, () => shop.placeOrder.click());
      await expect(shop.status).toContainText('This was already placed');
      expectCounted(await shop.gained()).toEqual(ONE);
    });

    test('what the server refuses keeps the entered values and the key', { tag: '@all' }, async ({ page, shop }) => {
      await page.goto(path);
      await page.getByLabel('Product').selectOption({ index: 1 });
      const product = await page.getByLabel('Product').inputValue();
      await quantity(page).fill('2.5');
      await shop.placeOrder.click();
      await expect(page.getByText('Enter a whole number.').first()).toBeVisible();
      await expect(quantity(page)).toHaveAttribute('aria-invalid', 'true');
      await expect(quantity(page)).toHaveValue('2.5');
      await expect(page.getByLabel('Product')).toHaveValue(product);
      await expect(shop.status).toContainText('Some fields need your attention.');
      expectCounted(await shop.gained()).toEqual(NONE);
      await quantity(page).fill('1');
      await shop.placeOrder.click();
      await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
      expectCounted(await shop.gained()).toEqual(ONE);
    });

    if (ownsForm) {
      test('offline: it says so, waits and is sent once', { tag }, async ({ page, shop }) => {
        await page.goto(path);
        await hydrated(page);
        await goOffline(page, async () => {
          await shop.placeOrder.click();
          await expect(shop.status).toHaveAttribute('data-state', 'offline');
          await shop.placeOrder.click();
        });
        await succeeded(shop);
        expectCounted(await shop.gained()).toEqual(ONE);
      });

      test('typed before the page has loaded: it stays, and is what is ordered', { tag }, async ({ page, shop }) => {
        const hydrate = await holdHydration(page);
        await page.goto(path, { waitUntil: 'commit' });
        await quantity(page).fill('3');
        await hydrate();
        await hydrated(page);
        await expect(quantity(page)).toHaveValue('3');
        await shop.placeOrder.click();
        await expect(page.locator('[data-order-id]')).toBeVisible();
        expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 3, keys: 1 });
      });

      test('sent before the page has loaded, and refused: the loaded page keeps what was entered', {
        tag: '@all',
      }, async ({ page, shop }) => {
        const hydrate = await holdHydration(page);
        await page.goto(path, { waitUntil: 'commit' });
        await quantity(page).fill('2.5');
        await shop.placeOrder.click({ noWaitAfter: true });
        await expect(page.getByText('Enter a whole number.').first()).toBeVisible();
        await hydrate();
        await hydrated(page);
        await expect(quantity(page)).toHaveValue('2.5');
        await expect(page.getByText('Enter a whole number.').first()).toBeVisible();
        await quantity(page).fill('2');
        await shop.placeOrder.click();
        await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
        expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 1 });
      });
    }

    test.describe('without JavaScript', () => {
      test.use({ javaScriptEnabled: false });

      test('it orders once, and a reload of the answer does not order again', { tag }, async ({ page, shop }) => {
        await page.goto(path);
        await shop.placeOrder.click();
        await expect(page.locator('[data-order-id]')).toBeVisible();
        await expectCounted(counted(page)).toHaveText('1');
        await page.reload(); // sends the form again
        await expect(shop.status).toContainText('Already placed; this is the same order');
        expectCounted(await shop.gained()).toEqual(ONE);
      });

      test('a refused value stays, with its error beside it', { tag: '@all' }, async ({ page, shop }) => {
        await page.goto(path);
        await page.getByLabel('Product').selectOption({ index: 1 });
        const product = await page.getByLabel('Product').inputValue();
        await quantity(page).fill('2.5');
        await shop.placeOrder.click();
        await expect(page.getByText('Enter a whole number.').first()).toBeVisible();
        await expect(quantity(page)).toHaveValue('2.5');
        await expect(page.getByLabel('Product')).toHaveValue(product);
        expectCounted(await shop.gained()).toEqual(NONE);
        await quantity(page).fill('1');
        await shop.placeOrder.click();
        await expect(page.locator('[data-order-id]')).toBeVisible();
        expectCounted(await shop.gained()).toEqual(ONE);
      });
    });
  });
}

test('react-hook-form refuses in the browser: nothing is sent, and the second try goes through', {
  tag: '@all',
}, async ({ page, shop, network }) => {
  await page.goto('/examples/react-hook-form');
  await network.heal();
  await quantity(page).fill('0');
  await shop.placeOrder.click();
  await expect(page.getByText('At least one.')).toBeVisible();
  await expect(shop.status).toHaveAttribute('data-state', 'idle');
  expect(await shop.posts()).toBe(0);
  await quantity(page).fill('1');
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('next-safe-action stops whom its middleware does not know: no order, and the same key later', async ({
  page,
  context,
  shop,
}) => {
  await page.goto('/examples/next-safe-action');
  // A token that nobody has is nobody, whatever the cookie says.
  await context.setExtraHTTPHeaders({ Authorization: 'Bearer nobody' });
  await shop.placeOrder.click();
  await expect(shop.status).toContainText('Please sign in');
  expectCounted(await shop.gained()).toEqual(NONE);
  await context.setExtraHTTPHeaders({});
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('in German every word is German, and a refused field has the focus', { tag: '@all' }, async ({ page, shop }) => {
  await page.goto('/examples/languages');
  await page.getByLabel('Deutsch').check();
  const form = page.locator('form[lang=de]');
  await expect(form.getByLabel('Artikel')).toContainText('(noch ');
  await form.getByLabel('Menge').fill('2.5');
  await form.getByRole('button', { name: 'Bestellen' }).click();
  await expect(form.getByLabel('Menge')).toBeFocused();
  await expect(form.getByRole('list', { name: 'Was noch fehlt' })).toContainText('Bitte geben Sie eine ganze Zahl');
  await expect(form).not.toContainText(/Product|Quantity|left|Place order|need your attention|whole number/);
  await form.getByLabel('Menge').fill('1');
  await form.getByRole('button', { name: 'Bestellen' }).click();
  await expect(shop.status).toContainText('Bestellt. Ihre Nummer ist');
  expectCounted(await shop.gained()).toEqual(ONE);
});
