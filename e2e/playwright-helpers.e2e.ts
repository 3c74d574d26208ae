import { randomUUID } from 'node:crypto';
import type { Locator, Page } from '@playwright/test';
import {
  doubleSubmit,
  expectExactlyOne,
  goOffline,
  loseResponse,
  NotExactlyOneError,
  reloadMidFlight,
} from 'oncekit/testing';
import { postOrder } from './fixtures/api-orders.ts';
import { MoneyWatch } from './fixtures/money-watch.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

/** A person who has seen no answer opens the page again and sends it once more. */
async function again(page: Page, button: Locator): Promise<void> {
  await page.goto('/lab');
  await button.click();
}

/** Ready: what a page still loads when it goes offline never comes. */
async function open(page: Page): Promise<void> {
  await page.goto('/lab');
  await hydrated(page);
}

const placed = (page: Page) => expect(page.locator('[data-order-id]')).toBeVisible();

/** Each as a user would write it, for a form with the kit; `without` is what happens to a form that has nothing. */
const gestures = [
  {
    name: 'doubleSubmit',
    run: async (page: Page, button: Locator) => {
      await doubleSubmit(button);
      await placed(page);
    },
    without: 2,
  },
  {
    name: 'loseResponse',
    run: async (page: Page, button: Locator, hasKit: boolean) => {
      const lost = await loseResponse(page, { url: '**/lab' });
      await button.click();
      await expect.poll(() => lost.count).toBe(1);
      if (!hasKit) await again(page, button);
      await placed(page);
    },
    without: 2,
  },
  {
    name: 'reloadMidFlight',
    run: async (page: Page, button: Locator, hasKit: boolean) => {
      await reloadMidFlight(page, () => button.click());
      if (!hasKit) await button.click();
      await placed(page);
    },
    without: 2,
  },
  {
    name: 'goOffline',
    run: async (page: Page, button: Locator, hasKit: boolean) => {
      await goOffline(page, () => button.click());
      if (hasKit) await placed(page);
      else await expect(page.getByRole('heading', { name: 'could not be loaded' })).toBeVisible();
    },
    without: 0,
  },
];

for (const { name, run, without } of gestures) {
  // The others are in the tests of the examples.
  const tag = name === 'doubleSubmit' ? [] : '@all';
  test(`${name}: one order with the kit`, { tag }, async ({ page, shop, db }) => {
    await open(page);
    await expectExactlyOne(
      () => db.order.count(),
      () => run(page, shop.orderInLab, true),
    );
    await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  });

  test(`${name}: ${without} without it, which is reported`, { tag }, async ({ page, shop, db }) => {
    await open(page);
    const before = await db.order.count();
    const failed = expectExactlyOne(
      () => db.order.count(),
      async () => {
        await run(page, shop.orderInLabWithoutKit, false);
        // The second is placed behind the first, and may still be under way.
        await expect.poll(() => db.order.count()).toBe(before + without);
      },
    );
    await expect(failed).rejects.toThrow(NotExactlyOneError);
    await expect(failed).rejects.toMatchObject({ existing: without });
  });
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? 'for a moment' : 'without JavaScript';
  test(`a page that denies ${how} what was charged is found`, async ({ app, browser, db, gateway }) => {
    const { id } = (await (await postOrder(app.url, randomUUID())).json()) as { id: string };
    const watch = new MoneyWatch({ db, gateway });
    const context = await browser.newContext({ javaScriptEnabled });
    await watch.add(context);
    const denial = '<p>Your card was declined. Nothing was charged.</p>';
    const body = javaScriptEnabled ? '<p>Thank you.</p>' : denial;
    await context.route('**/orders/*', (route) => route.fulfill({ contentType: 'text/html', body }));
    const page = await context.newPage();
    await page.goto(`${app.url}/orders/${id}`);
    if (javaScriptEnabled) {
      await page.evaluate(async (html) => {
        document.body.innerHTML = html;
        await Promise.resolve();
        document.body.innerHTML = '';
      }, denial);
    }
    await expect.poll(() => watch.untrue()).toEqual([expect.stringContaining('Nothing was charged." of pi_')]);
    await page.goto(`${app.url}/orders/${randomUUID()}`);
    expect(await watch.untrue(), 'of another order').toHaveLength(1);
    await context.close();
  });
}
