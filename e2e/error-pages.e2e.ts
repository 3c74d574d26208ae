import type { Page } from '@playwright/test';
import { untilClaimed, untilOrdered } from './fixtures/checkout-plays.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expectGoodPage } from './fixtures/page-checks.ts';
import type { Network } from './fixtures/proxy-control.ts';
import { ADA, type Shop } from './fixtures/shop.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

/** The sight of a page of which half has arrived: the error pages, and what the browser itself makes of it. */

const ONE = { orders: 1, stockTaken: 1, keys: 1 };
/** Of the answer to a checkout: the layout has arrived and its page has not; not even the layout. */
const CUTS = { 'app/error.tsx': 0.9, 'app/global-error.tsx': 0.3 };
const NO_STATUS = { match: { path: '/api/idempotency/*' }, kind: 'lose-answer', times: 50 } as const;

const title = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

/** A paid order whose answer breaks off, and a status route that cannot be reached. */
async function loseHalf(page: Page, shop: Shop, network: Network, share: number): Promise<void> {
  await shop.checkout();
  await network.break({ match: { method: 'POST', path: '/checkout' }, kind: 'mid-answer', share, ms: 300 });
  await network.break(NO_STATUS);
  await shop.placeOrder.click();
  await expect(title(page, 'We cannot be reached right now')).toBeVisible();
}

for (const [file, share] of Object.entries(CUTS)) {
  // The second file is the first one's page without the layout.
  test.describe(file, { tag: file === 'app/error.tsx' ? [] : '@all' }, () => {
    test('says what became of an order as soon as it can, and leads to it', async ({ page, shop, network }) => {
      await loseHalf(page, shop, network, share);
      await expect(page.locator('html')).toHaveAttribute('lang', 'en');
      // The title of the page that broke may have arrived; it stays then.
      await expect(page).toHaveTitle(/We cannot be reached right now|Your order/);
      // Only what the layout would bring tells the two files apart.
      await expect(page.getByRole('contentinfo')).toHaveCount(file === 'app/error.tsx' ? 1 : 0);
      await expect(page.getByRole('banner').getByRole('link', { name: 'oncekit shop' })).toBeVisible();
      await expectGoodPage(page, `${file}, nobody answers`);
      const lost = page.waitForEvent('requestfailed', (request) => request.url().includes('/api/idempotency/'));
      await page.getByRole('button', { name: 'Try again' }).click();
      await lost;
      await expect(title(page, 'We cannot be reached right now')).toBeVisible();
      await network.heal();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.waitForURL('**/orders/*');
      await expect(page.getByText(ADA.Name)).toBeVisible();
      expect(await shop.posts()).toBe(0);
      expectCounted(await shop.gained()).toEqual(ONE);
    });

    test('stays where the page breaks a second time, and tells of the order', async ({ page, shop, network }) => {
      await loseHalf(page, shop, network, share);
      await page.evaluate(() => {
        const name = Object.keys(sessionStorage).find((one) => one.startsWith('oncekit:')) ?? '';
        const { key, submittedAt } = JSON.parse(sessionStorage.getItem(name) ?? '{}');
        sessionStorage.setItem('oncekit-led', `${key} ${submittedAt}`);
      });
      await network.heal();
      await page.getByRole('button', { name: 'Try again' }).click();
      await expect(title(page, 'It went through')).toBeVisible();
      await expectGoodPage(page, `${file}, it went through`);
      await page.getByRole('link', { name: 'Show it' }).click();
      await page.waitForURL('**/orders/*');
      await expect(page.getByText(ADA.Name)).toBeVisible();
      expectCounted(await shop.gained()).toEqual(ONE);
    });
  });
}

test('a page that breaks off on its way, without a form: "Try again" loads it', async ({ page, network }) => {
  await page.goto('/');
  await hydrated(page);
  await network.break({ match: { method: 'GET', path: '/mailbox' }, kind: 'mid-answer', share: 0.9, ms: 300 });
  await page.getByRole('link', { name: 'Mail', exact: true }).click();
  await expect(title(page, 'This page could not be loaded')).toBeVisible();
  await expectGoodPage(page, 'app/error.tsx, nothing was sent');
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(title(page, 'Mailbox')).toBeVisible();
});

// Chromium leaves such a page as it is: it never becomes interactive, and tells no script of it.
test('the page of a form breaks off on its way: while it is paid for, it leads to the order; else its form works as without JavaScript', async ({
  page,
  shop,
  network,
  app,
}) => {
  const reloadHalf = async () => {
    await network.break({ match: { method: 'GET', path: '/checkout' }, kind: 'mid-answer', share: 0.8, ms: 300 });
    await page.reload({ waitUntil: 'commit' });
  };
  await shop.checkout();
  const letGo = await app.holdAt('after-started');
  await shop.placeOrder.click();
  await untilClaimed(shop);
  await reloadHalf();
  await expect(page.getByText('Please do not pay again.')).toBeVisible();
  await expect(shop.placeOrder).toBeHidden();
  await letGo();
  await expect.poll(() => shop.gained()).toEqual(ONE);
  await page.getByRole('link', { name: 'View the order' }).click();
  await untilOrdered(page);

  await shop.checkout();
  await reloadHalf();
  await expect(shop.placeOrder).toBeVisible();
  await shop.fillAddress();
  await shop.placeOrder.click();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('half an answer to the form is a redirect all the same; half an order is whole after a reload', async ({
    page,
    shop,
    network,
  }) => {
    await shop.checkout();
    await network.heal();
    await network.break({ match: { method: 'POST', path: '/checkout' }, kind: 'mid-answer', share: 0 });
    await network.break({ match: { method: 'GET', path: '/orders/*' }, kind: 'mid-answer', share: 0.5 });
    // The browser's own word: told by the proxy alone, it may still be at work with the half that has come, and refuse to reload.
    const broken = page.waitForEvent('requestfailed', (request) => request.url().includes('/orders/'));
    await shop.placeOrder.click();
    await broken;
    await page.waitForURL('**/orders/*', { waitUntil: 'commit' });
    await page.reload();
    await expect(page.getByText(ADA.Name)).toBeVisible();
    expect(await shop.posts()).toBe(1);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});
