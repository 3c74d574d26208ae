import type { Page } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { GatewayProcess } from './fixtures/gateway-process.ts';
import { picture } from './fixtures/picture.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

/**
 * Each preset at its own address, played; what the page counts is what database and ledger hold. `npm run screenshots` has
 * each end with its picture.
 */

const ONE = { orders: 1, charges: 1 };
const TWO = { orders: 2, charges: 2 };

/** The plays of the page, and what each comes to without the kit. With it, it comes to one each time. */
const played: { slug: string; without: typeof ONE; requests?: { with: number; without: number } }[] = [
  { slug: 'double-click', without: TWO, requests: { with: 1, without: 2 } },
  { slug: 'lost-answer', without: TWO, requests: { with: 2, without: 2 } },
  { slug: 'three-lost-answers', without: { orders: 4, charges: 4 }, requests: { with: 4, without: 4 } },
  // Nothing is left of a transaction that did not commit: this one harms nobody.
  { slug: 'crash-before-commit', without: ONE },
  // It died before it charged the first order, and nobody ever will.
  { slug: 'crash-after-commit', without: { orders: 2, charges: 1 } },
  { slug: 'kill-during-charge', without: TWO },
  { slug: 'slow-server', without: { orders: 3, charges: 3 }, requests: { with: 1, without: 3 } },
  { slug: 'offline', without: TWO },
  { slug: 'edit-after-loss', without: TWO },
  { slug: 'session-expires', without: TWO },
];

/** Those that `npm test` plays. The others come to what tests of their own hold, too. */
const SHORT = ['double-click', 'lost-answer'];

for (const { slug, without, requests } of played) {
  const tag = SHORT.includes(slug) ? [] : '@all';
  test(`${slug}: one order and one charge with the kit, and without ${without.orders}`, { tag }, async ({
    page,
    app,
    db,
    gateway,
  }) => {
    await open(page, slug);
    await start(page);
    await expect(page.locator(`[data-verdict=${slug}]`)).toContainText('With oncekit: 1 order, 1 charge');
    expect(await shown(page)).toMatchObject({
      with: { ...ONE, ...(requests && { requests: requests.with }) },
      without: { ...without, ...(requests && { requests: requests.without }) },
    });
    // The page's own count of all orders says no other number.
    await expect(page.locator('[data-count=plain]')).toHaveText(`${without.orders}`);
    await expect(page.locator('[data-count=lab]')).toHaveText('1');
    expect(await held(db, gateway, page)).toEqual({ with: ONE, without });
    await picture(page, `lab-${slug}`);
    if (slug === 'lost-answer')
      await picture(page, 'lab-timeline', page.locator('figure', { has: page.locator('svg') }));
    if (slug.startsWith('crash') || slug.startsWith('kill')) await app.untilHealthy();
  });
}

test('two-tabs: each tab orders in both columns', { tag: '@all' }, async ({ page, context, db, gateway }) => {
  await open(page, 'two-tabs');
  await start(page);
  const second = await context.newPage();
  await second.goto('/lab/two-tabs');
  await expect(second.locator('[data-count=with-clicks]')).toHaveText('0'); // it runs
  for (const tab of [page, second]) {
    await plainButton(tab).click();
    await kitButton(tab).click();
    await expect(kitStatus(tab)).toHaveAttribute('data-state', 'hasSucceeded');
  }
  for (const tab of [page, second]) {
    await expect.poll(() => shown(tab)).toMatchObject({ with: { ...ONE, clicks: 2 }, without: { ...TWO, clicks: 2 } });
  }
  expect(await held(db, gateway, page)).toEqual({ with: ONE, without: TWO });
  await picture(page, 'lab-two-tabs');
});

test('reload: the page shows what has become of the order', { tag: '@all' }, async ({ page, db, gateway }) => {
  await open(page, 'reload');
  await start(page);
  await expect.poll(async () => (await shown(page)).without.orders).toBe(1);
  await page.reload();
  await expect(kitStatus(page)).toContainText('This was already placed');
  await plainButton(page).click();
  await expect
    .poll(() => shown(page))
    .toMatchObject({ with: { ...ONE, requests: 1 }, without: { ...TWO, requests: 2 } });
  expect(await held(db, gateway, page)).toEqual({ with: ONE, without: TWO });
  await picture(page, 'lab-reload');
});

test('javascript-off: each button is pressed twice', { tag: '@all' }, async ({
  page,
  browser,
  network,
  db,
  gateway,
}) => {
  await open(page, 'javascript-off');
  await start(page);
  await expect.poll(async () => (await shown(page)).with.orders).toBe(0);
  const storageState = await page.context().storageState();
  await page.close();
  const context = await browser.newContext({ javaScriptEnabled: false, storageState, baseURL: network.url });
  const plain = await context.newPage();
  for (const button of [plainButton, kitButton]) {
    await plain.goto('/lab/javascript-off');
    await button(plain).scrollIntoViewIfNeeded();
    const box = await button(plain).boundingBox();
    if (!box) throw new Error('There is no button to click.');
    const before = (await network.posts()).length;
    for (const posts of [1, 2]) {
      // By the bare mouse: a locator would wait for the navigation that the first one began.
      await plain.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      await expect.poll(async () => (await network.posts()).length).toBe(before + posts);
    }
    await plain.waitForLoadState();
  }
  await expect(kitStatus(plain)).toContainText(/order/i);
  await expect
    .poll(async () => {
      await plain.goto('/lab/javascript-off');
      return await shown(plain);
    })
    .toMatchObject({ with: ONE, without: TWO });
  expect(await held(db, gateway, plain)).toEqual({ with: ONE, without: TWO });
  await picture(plain, 'lab-javascript-off');
  await context.close();
});

test('the first page plays too, and proves: 50 posts with one key at once, one key row, one order row', {
  tag: '@all',
}, async ({ page, db, gateway }) => {
  await page.goto('/lab');
  await hydrated(page);
  await start(page);
  await expect(page.locator('[data-verdict]')).toContainText('With oncekit: 1 order, 1 charge');
  expect(await shown(page)).toMatchObject({ with: { ...ONE, requests: 1 }, without: { ...TWO, requests: 2 } });
  expect(await held(db, gateway, page)).toEqual({ with: ONE, without: TWO });
  const before = await db.order.count();
  await page.getByRole('button', { name: 'Send 50 posts' }).click();
  await expect(page.locator('[data-proof]')).toContainText('They name 1 order.');
  await expect(page.locator('[data-proof]')).toContainText('1 stored');
  for (const table of ['idempotency_keys', 'orders']) {
    await expect(page.locator(`[data-rows=${table}]`)).toHaveText('1');
  }
  expectCounted((await db.order.count()) - before).toBe(1);
});

test('what is broken is broken for this visitor alone, by this page alone', async ({ page, browser, network, app }) => {
  await open(page, 'lost-answer');
  await start(page);
  const stranger = await browser.newPage({ baseURL: network.url });
  await stranger.goto('/lab');
  await kitButton(stranger).click();
  await expect(kitStatus(stranger)).toContainText('Order placed');
  await stranger.close();
  const rule = JSON.stringify({ preset: 'crash-after-commit', key: 'a' });
  const from = (headers: Record<string, string>) =>
    page.request.post('/api/lab/run', { data: rule, headers: { 'Content-Type': 'application/json', ...headers } });
  expect((await from({ Origin: 'https://evil.example' })).status()).toBe(403);
  expect((await from({ 'Sec-Fetch-Site': 'cross-site' })).status()).toBe(403);
  expect((await from({ Host: 'evil.example', 'Sec-Fetch-Site': 'same-origin' })).status()).toBe(403);
  const huge = await page.request.post('/api/lab/run', {
    data: JSON.stringify({ preset: 'x'.repeat(1_100_000), key: 'a' }),
    headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' },
  });
  expect(huge.status()).toBe(413);
  const nobody = await fetch(`${app.url}/api/lab/run`, { headers: { 'Sec-Fetch-Site': 'same-origin' } });
  expect(nobody.status).toBe(401);
});

test('without the fault proxy nothing can be started, and nothing is counted', async ({ page, app }) => {
  await page.goto(`${app.url}/lab/lost-answer`);
  await hydrated(page);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page.getByText('did not come through the fault proxy')).toBeVisible();
  await expect(page.locator('[data-count^=with]')).toHaveCount(0);
  await expect(page.getByText('Counted since Start')).toHaveCount(0);
});

async function open(page: Page, slug: string): Promise<void> {
  await page.goto(`/lab/${slug}`);
  await hydrated(page);
}

async function start(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page.locator('[data-count=with-orders]')).not.toHaveText('–');
}

const kitButton = (page: Page) => page.getByRole('button', { name: 'Order with oncekit' });
const plainButton = (page: Page) => page.getByRole('button', { name: 'Order without oncekit' });
const kitStatus = (page: Page) => page.locator('[role=status][data-state]');

type Numbers = Record<'clicks' | 'requests' | 'orders' | 'charges', number>;

/** The counts of the page. */
async function shown(page: Page): Promise<Record<'with' | 'without', Numbers>> {
  const read = async (side: string) => {
    const names = ['clicks', 'requests', 'orders', 'charges'];
    const texts = await Promise.all(names.map((name) => page.locator(`[data-count=${side}-${name}]`).textContent()));
    return Object.fromEntries(names.map((name, index) => [name, Number(texts[index])])) as Numbers;
  };
  return { with: await read('with'), without: await read('without') };
}

/** The rows of this page's run, in database and ledger. */
async function held(db: Client, gateway: GatewayProcess, page: Page) {
  const cookie = (await page.context().cookies()).find(({ name }) => name === 'oncekit_lab');
  const since = new Date(Number(cookie?.value.split('_').at(-1)));
  const orders = await db.order.findMany({ where: { createdAt: { gte: since } } });
  const { charges } = await gateway.ledger();
  const side = (isPlain: boolean) => {
    const ids = orders.filter(({ source }) => (source === 'plain') === isPlain).map(({ id }) => id);
    const own = charges.filter(({ metadata }) => ids.includes(metadata.lab_order_id ?? metadata.order_id ?? ''));
    return { orders: ids.length, charges: own.length };
  };
  return { with: side(false), without: side(true) };
}
