import type { Locator, Page } from '@playwright/test';
import { variantOf } from '../shop/variants.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { Network } from './fixtures/proxy-control.ts';
import type { Shop } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

/**
 * Clicks while answers are lost, until Next has seen that the server is there (by a HEAD) and has sent the POST again
 * by itself. Chromium re-sends too, but asks nothing before.
 */
async function untilNextReplays(page: Page, network: Network, button: Locator): Promise<number> {
  await page.goto('/lab');
  await network.heal();
  await network.break({ match: { method: 'POST', path: '/lab' }, kind: 'lose-answer', times: 50 });
  await button.click();
  await expect
    .poll(async () => {
      const methods = (await network.log()).map(({ method }) => method);
      return methods.lastIndexOf('POST') > methods.indexOf('HEAD') && methods.includes('HEAD');
    })
    .toBe(true);
  const sent = (await network.posts()).length;
  await network.heal();
  await expect(page.locator('[data-order-id]')).toBeVisible();
  return sent;
}

const ordersOf = async (shop: Shop) => (await shop.gained()).orders;

// B6, on the builds that have it: `experimental.useOffline` sends a server action again after any failed fetch.
if (variantOf(process.env).useOffline) {
  test('without the kit, what Next sends again is ordered again', async ({ page, shop, network }) => {
    const sent = await untilNextReplays(page, network, shop.orderInLabWithoutKit);
    expect(sent).toBeGreaterThan(1);
    expectCounted(await ordersOf(shop)).toBeGreaterThanOrEqual(sent);
  });

  test('B6 with the kit: one order', async ({ page, shop, network }) => {
    expect(await untilNextReplays(page, network, shop.orderInLab)).toBeGreaterThan(1);
    await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 1 });
  });
}
