import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

test('a new deployment does not know the form: it is loaded again, and sent under the same key', async ({
  page,
  shop,
  db,
}) => {
  await page.goto('/lab');
  const key = await page.locator('input[name=idempotency_key]').first().inputValue();
  // As an old page would after a deployment: it names an action that this server never had.
  await page.route('**/lab', async (route, request) => {
    const headers = request.headers();
    if (request.method() !== 'POST') return await route.continue();
    await route.continue({ headers: { ...headers, 'next-action': 'f'.repeat(headers['next-action']?.length ?? 42) } });
  });
  const reloaded = page.waitForEvent('load');
  await shop.orderInLab.click();
  await reloaded;
  await expect(shop.status).toContainText('has not reached us');
  await page.unroute('**/lab');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 1 });
  expect(
    (await db.idempotencyKey.findFirstOrThrow({ orderBy: { settledAt: { sort: 'desc', nulls: 'last' } } })).key,
  ).toBe(key);
});
