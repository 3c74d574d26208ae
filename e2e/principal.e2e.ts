import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

const NONE = { orders: 0, stockTaken: 0, keys: 0 };
const ONE = { orders: 1, stockTaken: 1, keys: 1 };

test('somebody else has signed in: a form that was never sent is refused once, and then is theirs', async ({
  page,
  context,
  shop,
}) => {
  await page.goto('/lab');
  await context.clearCookies();
  await page.evaluate(() => fetch('/lab').then((answer) => answer.text())); // another visitor's session, as by another tab
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('Your session has changed');
  expectCounted(await shop.gained()).toEqual(NONE);
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('somebody else has signed in: what was sent before stays unknown, until a person starts over', async ({
  page,
  context,
  shop,
  network,
}) => {
  await page.goto('/lab');
  await network.break({ match: { method: 'POST', path: '/lab' }, kind: 'lose-request', times: 50 });
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  await context.clearCookies();
  await network.heal();
  await page.reload();
  await expect(shop.status).toHaveAttribute('data-state', 'unknown');
  // No gesture but this one leads away from a key under which something may have happened.
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('Your session has changed');
  await expect(shop.status).toHaveAttribute('data-state', 'unknown');
  expectCounted(await shop.gained()).toEqual(NONE);
  await page.getByRole('button', { name: 'Start over' }).click();
  await expect(shop.status).toHaveAttribute('data-state', 'idle');
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a browser that keeps no cookies is somebody else with each request, and is told of them', async ({
  page,
  context,
  shop,
}) => {
  await page.route('**', async (route) => {
    await context.clearCookies();
    await route.continue();
  });
  await page.goto('/lab');
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('allow cookies');
  await shop.checkout();
  await shop.placeOrder.click();
  await expect(page.getByRole('main')).toContainText('because cookies were deleted or are blocked');
  await page.reload();
  await expect(page.getByRole('main')).toContainText('If your browser blocks cookies');
  expectCounted(await shop.gained()).toEqual(NONE);
});
