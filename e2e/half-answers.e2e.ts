import type { Page } from '@playwright/test';
import { expectCounted } from './fixtures/expect-counted.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

/**
 * The connection ends in the middle of an answer: behind its headers, before the action's result, behind it, or
 * somewhere in the page that follows. The effect is there by then.
 */

/**
 * How much of the body arrives, and how long before the connection ends. In 300 ms the browser shows what it can of the
 * part; at once, it often drops even what has arrived. `npm test` has nothing of it, and a part.
 */
const CUTS = [
  ...[0, 1].map((share) => ({ share, ms: 0 })),
  ...[0.2, 0.35, 0.65, 0.9].map((share) => ({ share, ms: 300 })),
].map((cut) => ({ ...cut, tag: [0, 0.65].includes(cut.share) ? [] : '@all' }));
const ONE = { orders: 1, stockTaken: 1, keys: 1 };

const hasLost = (page: Page) =>
  page.getByRole('heading', { name: /could not be loaded|cannot be reached|couldn’t load/ });

for (const { share, ms, tag } of CUTS) {
  test.describe(`${share * 100} % of the answer, and the end after ${ms} ms`, { tag }, () => {
    const cut = (path: string) => ({ match: { method: 'POST', path }, kind: 'mid-answer', share, ms }) as const;

    test('a checkout, which redirects, ends on its order', async ({ page, shop, network, db, gateway }) => {
      await shop.checkout();
      await network.break(cut('/checkout'));
      await shop.placeOrder.click();
      await page.waitForURL('**/orders/*');
      await expect(page.getByText(ADA.Name)).toBeVisible();
      await expect(hasLost(page)).toHaveCount(0);
      expectCounted(await shop.gained()).toEqual(ONE);
      const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
      expect(page.url()).toContain(order.id);
      expectCounted(await gateway.charges(order.id)).toHaveLength(1);
    });

    test('a refund, which revalidates its page, is shown there', async ({ page, shop, network, db, gateway }) => {
      await shop.checkout();
      await shop.placeOrder.click();
      await page.waitForURL('**/orders/*');
      await network.break(cut('/orders/*'));
      await page.getByRole('button', { name: 'Get refund' }).click();
      await expect(page.locator('[data-order-status=refunded]')).toBeVisible();
      await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
      const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
      expectCounted(await gateway.refunds(order.id)).toHaveLength(1);
    });

    test('an order in the lab, which revalidates it, is shown by its form', async ({ page, shop, network }) => {
      await page.goto('/lab');
      await network.break(cut('/lab'));
      await shop.orderInLab.click();
      await expect(page.locator('[data-order-id]')).toBeVisible();
      await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
      expectCounted(await shop.gained()).toEqual(ONE);
    });

    test('an order that does neither is shown by its form', async ({ page, shop, network }) => {
      await page.goto('/examples/tanstack-query');
      await network.break(cut('/examples/tanstack-query'));
      await page.getByRole('button', { name: 'Place order', exact: true }).click();
      await expect(page.locator('[data-order-id]')).toBeVisible();
      expectCounted(await shop.gained()).toEqual(ONE);
    });
  });
}
