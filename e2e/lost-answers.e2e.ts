import type { Page } from '@playwright/test';
import { untilOrdered } from './fixtures/checkout-plays.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { Network } from './fixtures/proxy-control.ts';
import { expect, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };
const POST_TO_LAB = { method: 'POST', path: '/lab' };

/**
 * Opens several connections and leaves them idle. Only on a reused connection does Chromium take a broken answer for
 * a server that was about to close, and sends the POST again by itself.
 */
async function warmUp(page: Page, network: Network): Promise<void> {
  // Each waits while the others are sent: one that were done would lend its connection to the next.
  await network.break({ match: { path: '/api/products' }, kind: 'delay-answer', ms: 300, times: 6 });
  await page.evaluate(async () => {
    await Promise.all(Array.from({ length: 6 }, () => fetch('/api/products').then((answer) => answer.text())));
  });
  await network.heal();
}

for (const lost of [1, 3]) {
  test.describe(`the answer is lost ${lost === 1 ? 'once' : 'three times'}`, () => {
    test.beforeEach(async ({ page, network }) => {
      await page.goto('/lab');
      await warmUp(page, network);
      await network.break({ match: POST_TO_LAB, kind: 'lose-answer', times: lost });
    });

    test(`without the kit: ${lost + 1} orders, from one click`, { tag: '@all' }, async ({ page, shop, network }) => {
      await shop.orderInLabWithoutKit.click();
      await expect(page.locator('[data-order-id]')).toBeVisible();
      expectCounted(await shop.gained()).toEqual({ orders: lost + 1, stockTaken: lost + 1, keys: 0 });
      expect((await network.posts()).map(({ fault }) => fault)).toEqual([...Array(lost).fill('lose-answer'), null]);
    });

    test('with the kit: one order', { tag: lost === 1 ? [] : '@all' }, async ({ page, shop, network }) => {
      await shop.orderInLab.click();
      await expect(page.locator('[data-order-id]')).toBeVisible();
      await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
      expectCounted(await shop.gained()).toEqual(ONE);
      expect(await shop.posts()).toBe(lost + 1);
      const [first] = await network.posts();
      expect(first?.onConnection, 'the connection was reused').toBeGreaterThan(1);
    });
  });
}

test.describe('Chromium sends one POST seven times by itself', () => {
  /** Each of six warm connections breaks as the POST comes over it, and is tried anew over the next; a seventh holds. */
  async function breakWarmConnections(page: Page, network: Network, path: string): Promise<() => Promise<void>> {
    await warmUp(page, network);
    // What was cut off arrives all the same, a moment later: seven copies are at the app at once.
    await network.break({ match: { method: 'POST', path }, kind: 'late-request', times: 6, ms: 30 });
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    return async () => {
      await expect.poll(async () => (await network.posts()).filter(({ status }) => status !== null)).toHaveLength(7);
      const posts = await network.posts();
      expect(posts.map(({ fault }) => fault)).toEqual([...Array(6).fill('late-request'), null]);
      expect(sent, 'the page itself has sent it once').toHaveLength(1);
    };
  }

  test('without the kit: seven orders', { tag: '@all' }, async ({ page, shop, network }) => {
    await page.goto('/lab');
    const expectSeven = await breakWarmConnections(page, network, '/lab');
    await shop.orderInLabWithoutKit.click();
    await expect(page.locator('[data-order-id]')).toBeVisible();
    await expectSeven();
    expectCounted(await shop.gained()).toEqual({ orders: 7, stockTaken: 7, keys: 0 });
  });

  test('B6 with the kit: one order, one charge, one answer', async ({ page, shop, network, db, gateway }) => {
    await shop.checkout();
    const expectSeven = await breakWarmConnections(page, network, '/checkout');
    await shop.placeOrder.click();
    await untilOrdered(page);
    await expectSeven();
    expectCounted(await shop.gained()).toEqual(ONE);
    const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
    expect(page.url()).toContain(order.id);
    expectCounted(await gateway.charges(order.id)).toHaveLength(1);
  });
});

test('the request is lost before it reaches the server: one order', async ({ page, shop, network }) => {
  await page.goto('/lab');
  await network.break({ match: POST_TO_LAB, kind: 'lose-request', times: 1 });
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('the answer is lost and the page reloaded: it finds out and shows the order', async ({ page, shop, network }) => {
  await page.goto('/lab');
  await warmUp(page, network);
  // More losses than the browser and the kit try to make up for before the reload.
  await network.break({ match: POST_TO_LAB, kind: 'lose-answer', times: 50 });
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  await page.reload();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  await expect(page.locator('[data-order-id]')).toBeVisible();
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('B2 a click 30 ms after success makes no second order', async ({ page, shop }) => {
  await page.goto('/lab');
  // In the page itself: 30 ms are less than a round trip to the test.
  await page.evaluate(() => {
    const button = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Order with oncekit');
    const status = document.querySelector('[role=status][data-state]');
    if (!button || !status) throw new Error('The form is not there.');
    new MutationObserver(() => {
      if (status.getAttribute('data-state') === 'hasSucceeded') {
        setTimeout(() => {
          button.click();
          document.body.dataset.lateClick = 'done';
        }, 30);
      }
    }).observe(status, { attributes: true });
    button.click();
  });
  await expect(page.locator('body')).toHaveAttribute('data-late-click', 'done');
  // A submit that had got through would be under way by now and end in another state or another order.
  await page.evaluate(() => fetch('/api/products').then((answer) => answer.text()));
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual(ONE);
  await page.getByRole('link', { name: 'Order another' }).click();
  await shop.orderInLab.click();
  await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
});

test('signing in between a lost answer and the retry still finds the first order', async ({
  page,
  context,
  shop,
  network,
  db,
}) => {
  await shop.checkout();
  await network.break({ match: { method: 'POST', path: '/checkout' }, kind: 'lose-answer', times: 50 });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  const second = await context.newPage();
  await second.goto('/sign-in');
  await second.getByLabel('Account').fill('alice');
  await second.getByLabel('Token').fill('demo-alice');
  await second.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await second.waitForURL((url) => url.pathname === '/');
  await network.heal();
  // The form's retry leads there; where the sign-in has loaded the page again before it, that page does.
  const placed = page.getByRole('link', { name: 'View the order' });
  const ordered = page.getByText('Ada Lovelace');
  await expect(ordered.or(placed)).toBeVisible();
  if (await placed.isVisible()) await placed.click();
  await expect(ordered).toBeVisible();
  expectCounted(await shop.gained()).toEqual(ONE);
  const row = await db.idempotencyKey.findFirstOrThrow({ orderBy: { claimedAt: 'desc' } });
  expect(row.principal).not.toBe('alice');
});
