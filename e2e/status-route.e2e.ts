import type { APIRequestContext, Page } from '@playwright/test';
import { BOB } from './fixtures/api-orders.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

const ONE = { orders: 1, stockTaken: 1, keys: 1 };
const FIELD = 'input[name=idempotency_key]';

async function keyInLab(page: Page): Promise<string> {
  await page.goto('/lab');
  return String(await page.locator(FIELD).first().getAttribute('value'));
}

async function ask(request: APIRequestContext, method: 'get' | 'delete', key: string, operation = 'lab.order') {
  const answer = await request[method](`/api/idempotency/${operation}/${encodeURIComponent(key)}`);
  return { status: answer.status(), headers: answer.headers(), body: await answer.json() };
}

test('a key is absent, in progress, succeeded', async ({ page, shop, app }) => {
  const key = await keyInLab(page);
  expect(await ask(page.request, 'get', key)).toMatchObject({ status: 200, body: { state: 'absent', key } });
  const letGo = await app.holdAt('before-commit');
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'executing');
  await expect
    .poll(() => ask(page.request, 'get', key))
    .toMatchObject({
      status: 200,
      headers: { 'retry-after': '1' },
      body: { state: 'in_progress', retryAfterMs: expect.any(Number) },
    });
  await letGo();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  const { body, headers } = await ask(page.request, 'get', key);
  expect(body).toMatchObject({ state: 'succeeded', outcome: { ok: true, replayed: true, data: { sku: 'mug' } } });
  expect(headers['cache-control']).toBe('no-store');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a fenced key never orders, and the form says so', async ({ page, shop }) => {
  const key = await keyInLab(page);
  expect(await ask(page.request, 'delete', key)).toMatchObject({ status: 200, body: { state: 'abandoned' } });
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasErrored');
  await expect(shop.status).toContainText('called off');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 1 });
  // The next gesture is a new intent, under a new key.
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 2 });
});

test('a key that nobody has signed is not given up, so that no row is kept for it', { tag: '@all' }, async ({
  page,
  shop,
}) => {
  await keyInLab(page);
  const refused = await ask(page.request, 'delete', 'made-up');
  expect(refused).toMatchObject({ status: 400, body: { code: 'key_invalid' } });
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
});

test('a settled key cannot be fenced', async ({ page, shop }) => {
  const key = await keyInLab(page);
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  const refused = await ask(page.request, 'delete', key);
  expect(refused).toMatchObject({ status: 409, body: { state: 'succeeded', outcome: { ok: true } } });
});

test("another's key is answered alike, whether it was used or not", async ({ page, shop, playwright, baseURL }) => {
  const used = await keyInLab(page);
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  const unused = await keyInLab(page);
  const stranger = await playwright.request.newContext({ baseURL });
  await stranger.get('/');
  const answers = [];
  for (const key of [used, unused]) {
    const { status, body } = await ask(stranger, 'get', key);
    const { instance, nextKey, ...rest } = body;
    answers.push({ status, ...rest });
  }
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({ status: 400, code: 'key_invalid' });
  await stranger.dispose();
});

test('an operation that does not exist is not found', { tag: '@all' }, async ({ page }) => {
  const key = await keyInLab(page);
  expect(await ask(page.request, 'get', key, 'nothing')).toMatchObject({ status: 404, body: { code: 'not_found' } });
});

test('too many questions of one account are limited', async ({ playwright, baseURL }) => {
  const bob = await playwright.request.newContext({ baseURL, extraHTTPHeaders: BOB });
  const all = await Promise.all(Array.from({ length: 130 }, () => ask(bob, 'get', 'a-key', 'orders.create')));
  await bob.dispose();
  const limited = all.find(({ status }) => status === 429);
  expect(limited?.body).toMatchObject({ code: 'rate_limited', retry: 'same-key' });
  expect(Number(limited?.headers['retry-after'])).toBeGreaterThan(0);
});
