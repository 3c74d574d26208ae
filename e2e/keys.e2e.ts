import type { Page } from '@playwright/test';
import { createIdempotency } from 'oncekit';
import { z } from 'zod';
import type { Client } from '../shop/db.ts';
import { SECRETS } from './fixtures/app-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

// Without JavaScript the field is all there is: what stands in it is what is sent.
test.use({ javaScriptEnabled: false });

const FIELD = /(name="idempotency_key"[^>]*value=")([^"]+)(")/;

/** Opens the lab with another key in its form; the key the server had put there is returned. */
async function openLabWith(page: Page, change: (key: string) => Promise<string>): Promise<string> {
  let issued = '';
  await page.route('**/lab', async (route) => {
    const answer = await route.fetch();
    const body = await answer.text();
    issued = FIELD.exec(body)?.[2] ?? '';
    const wanted = await change(issued);
    await route.fulfill({ response: answer, body: body.replace(FIELD, `$1${wanted}$3`) });
  });
  await page.goto('/lab');
  await page.unroute('**/lab');
  return issued;
}

/** A key as the app would have issued it a while ago, to whoever placed the newest order. */
async function keyOfLongAgo(db: Client, hours: number): Promise<string> {
  const { tenant, principal } = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
  const clock = () => Date.now() - hours * 3_600_000;
  const kit = createIdempotency({ prisma: db, secret: [SECRETS.IDEMPOTENCY_SECRET], clock });
  const operation = kit.operation({ name: 'lab.order', schema: z.object({}) }).handler(async () => null);
  return (await operation.mintKey({ tenant, principal })) ?? '';
}

test('an old key without a row is refused, in words', async ({ page, shop, db }) => {
  await page.goto('/lab');
  await shop.orderInLab.click();
  await expect(page.locator('[data-order-id]')).toBeVisible();
  await shop.recount();
  await openLabWith(page, () => keyOfLongAgo(db, 25));
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('open for too long');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
});

test('an old key with a row replays', async ({ page, shop, db }) => {
  await page.goto('/lab');
  await shop.orderInLab.click();
  const order = await page.locator('[data-order-id]').getAttribute('data-order-id');
  const old = await keyOfLongAgo(db, 25);
  const { key } = await db.idempotencyKey.findFirstOrThrow({ orderBy: { settledAt: { sort: 'desc', nulls: 'last' } } });
  await db.idempotencyKey.updateMany({ where: { key }, data: { key: old } });
  await shop.recount();
  await openLabWith(page, async () => old);
  await shop.orderInLab.click();
  await expect(page.locator('[data-order-id]')).toHaveAttribute('data-order-id', String(order));
  await expect(shop.status).toContainText('the same order');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
});

test('a tampered key is refused', async ({ page, shop }) => {
  await openLabWith(page, async (key) => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A'));
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('Your session has changed');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
});

test("another shopper's key is refused", async ({ page, shop, browser, baseURL }) => {
  const other = await browser.newPage({ baseURL, javaScriptEnabled: false });
  await other.goto('/lab');
  const key = await other.locator('input[name=idempotency_key]').first().getAttribute('value');
  await other.close();
  await openLabWith(page, async () => String(key));
  await shop.orderInLab.click();
  await expect(shop.status).toContainText('Your session has changed');
  expectCounted(await shop.gained()).toEqual({ orders: 0, stockTaken: 0, keys: 0 });
});

test('two visitors, and two visits, never share a key', async ({ page }) => {
  const keys = new Set<string>();
  for (let visit = 0; visit < 3; visit++) keys.add(await openLabWith(page, async (key) => key));
  expect(keys.size).toBe(3);
});
