import type { Locator, Page } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { picture } from './fixtures/picture.ts';
import type { LateAnswer, Network } from './fixtures/proxy-control.ts';
import { ADA, type Shop } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

/**
 * A person sends a form, hears nothing, changes it and sends it again. Was the first one ordered? Is it still on its
 * way? Nobody in the browser can know. Orders are counted in the database, charges in the payment provider's ledger.
 * On the default build: with `useOffline` Next itself sends again until it is heard, which `matrix.e2e.ts` is about.
 */

const TO_LAB = { method: 'POST', path: '/lab' };
const TO_CHECKOUT = { method: 'POST', path: '/checkout' };

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

// The page's clock stands still at first: no retry comes before the test wants it.
test.beforeEach(async ({ page }) => {
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(Date.now());
});

/** The form tries again for half a minute, in vain. Then it leaves the next step to the person. */
async function untilItGivesUp(page: Page, shop: Shop): Promise<void> {
  await expect(shop.status).toHaveAttribute('data-state', 'unknown');
  await page.clock.fastForward('00:31');
  await expect(page.getByRole('button', { name: 'Check again' })).toBeVisible();
  await page.clock.resume();
}

/** Ordered in the lab, and held back on its way. The form has given up, and the page gets through again. */
async function orderHeldBack(page: Page, shop: Shop, network: Network) {
  await page.goto('/lab');
  const firstKey = await keyIn(page, shop);
  const first = await network.holdBack(TO_LAB);
  await shop.orderInLab.click();
  await untilItGivesUp(page, shop);
  await first.reconnect();
  return { first, firstKey };
}

test('the very first attempt is still out: the edit asks at once, and gives nothing up', async ({
  page,
  shop,
  network,
}) => {
  await page.goto('/lab');
  await page.clock.resume();
  const firstKey = await keyIn(page, shop);
  await network.break({ match: TO_LAB, kind: 'delay-answer', ms: 3000, times: 1 });
  const asked = page.waitForRequest((sent) => sent.url().includes(firstKey) && sent.method() === 'GET');
  await shop.orderInLab.click();
  await expect(shop.status).toHaveAttribute('data-state', 'executing');
  await quantity(page, shop).fill('2');
  await asked;
  await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded');
  expectCounted(await shop.gained()).toEqual(ONE);
  expect(await shop.posts(), 'sent once').toBe(1);
});

test.describe('the first was ordered, and its answer lost', () => {
  test('the lab says so, and orders no second one', { tag: '@all' }, async ({ page, shop, network, db }) => {
    await page.goto('/lab');
    await network.break({ match: TO_LAB, kind: 'lose-answer', times: 50 });
    await shop.orderInLab.click();
    await untilItGivesUp(page, shop);
    await network.heal();

    await quantity(page, shop).fill('2');

    await expect(shop.status).toContainText('This was already placed');
    expectCounted(await shop.gained()).toEqual(ONE);
    const order = await latestOrder(db);
    expect(order.quantity, 'what was sent, not what was entered later').toBe(1);
    await expect(page.locator('[data-order-id]')).toHaveText(order.id);
    await shop.orderInLab.click();
    expect(await shop.posts(), 'the click was swallowed').toBe(0);
  });

  test('typing on while it finds out does not wipe the words away', { tag: '@all' }, async ({
    page,
    shop,
    network,
  }) => {
    await page.goto('/lab');
    await network.break({ match: TO_LAB, kind: 'lose-answer', times: 50 });
    await shop.orderInLab.click();
    await untilItGivesUp(page, shop);
    await network.heal();

    await quantity(page, shop).selectText();
    await quantity(page, shop).press('2');
    await expect(shop.status).toContainText('This was already placed');
    await quantity(page, shop).press('0');

    await expect(shop.status).toContainText('This was already placed');
    await shop.orderInLab.click();
    expect(await shop.posts(), 'the click was swallowed').toBe(0);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('the checkout says so, and charges no second time', async ({ page, shop, network, db, gateway }) => {
    await shop.checkout();
    await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: 50 });
    await shop.placeOrder.click();
    await untilItGivesUp(page, shop);
    await network.heal();

    await page.getByLabel('City').fill('Paris');

    await expect(shop.status).toContainText('This order is already placed');
    // What counts, what does not, and where to go: in place of the form, its cart and the focus.
    await expect(shop.status).toContainText('What you changed after that was not sent');
    await expect(shop.status.getByRole('listitem')).toHaveText([`City: ${ADA.City} is in the order, not Paris.`]);
    await expect(shop.status).toContainText('you can get your money back there');
    await expect(shop.status).toBeFocused();
    await expect(page.getByRole('heading', { name: 'Your cart' })).toHaveCount(0);
    await picture(page, 'doubt-edited');
    expectCounted(await shop.gained()).toEqual(ONE);
    const order = await latestOrder(db);
    expect(order).toMatchObject({ status: 'paid', city: ADA.City });
    expectCounted(await gateway.charges(order.id)).toHaveLength(1);
    await page.getByRole('link', { name: 'View the order' }).click();
    await page.waitForURL(`**/orders/${order.id}`);
  });
});

test.describe('the first is still on its way, and arrives after the changed one', () => {
  test('without the kit: it is ordered as well', { tag: '@all' }, async ({ page, shop, network }) => {
    await page.goto('/lab');
    const first = await network.holdBack(TO_LAB);
    await shop.orderInLabWithoutKit.click();
    await expect(page.getByRole('heading', { name: 'could not be loaded' })).toBeVisible();
    await first.reconnect();
    await page.goto('/lab');
    await shop.orderInLabWithoutKit.click();
    await expect(page.locator('[data-order-id]')).toBeVisible();

    const late = await first.arrive();

    expect(late.length).toBeGreaterThan(0);
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 + late.length });
  });

  test('the lab: its key is fenced, and it is refused', async ({ page, shop, network, db }) => {
    const { first, firstKey } = await orderHeldBack(page, shop, network);

    await quantity(page, shop).fill('2');
    await expect(shop.status).toHaveAttribute('data-state', 'idle');
    const secondKey = await keyIn(page, shop);
    expect(await states(db, firstKey, secondKey)).toEqual(['abandoned', undefined]);
    await shop.orderInLab.click();
    await expect(shop.status).toContainText('Order placed');
    await expect(quantity(page, shop), 'reset by the success').toHaveValue('1');

    expectRefused(await first.arrive());

    expect(await states(db, firstKey, secondKey)).toEqual(['abandoned', 'succeeded']);
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 2 });
    expect(await latestOrder(db)).toMatchObject({ quantity: 2, idempotencyKey: secondKey });
  });

  test('the checkout, reloaded meanwhile: one order, one charge', { tag: '@all' }, async ({
    page,
    shop,
    network,
    db,
    gateway,
  }) => {
    const charged = async () => (await gateway.ledger()).charges.length;
    const before = await charged();
    await shop.checkout();
    const firstKey = await keyIn(page, shop);
    const first = await network.holdBack(TO_CHECKOUT);
    await shop.placeOrder.click();
    await expect(shop.status).toHaveAttribute('data-state', 'unknown');
    await first.reconnect();
    await page.reload();
    await expect(shop.status).toContainText('Your order has not reached us so far.');
    await page.clock.resume();

    await shop.fillAddress({ ...ADA, City: 'Paris' });
    await expect(shop.status).toHaveAttribute('data-state', 'idle');
    const secondKey = await keyIn(page, shop);
    await shop.placeOrder.click();
    await page.waitForURL('**/orders/*');

    expectRefused(await first.arrive());

    expect(await states(db, firstKey, secondKey)).toEqual(['abandoned', 'succeeded']);
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 2 });
    expect(await latestOrder(db)).toMatchObject({ status: 'paid', city: 'Paris', idempotencyKey: secondKey });
    expect(await charged()).toBe(before + 1);
  });
});

test.describe('the first arrives while the page finds out', () => {
  test('it is being executed as the page fences it: the fence waits, and loses', async ({
    page,
    shop,
    network,
    app,
  }) => {
    const { first, firstKey } = await orderHeldBack(page, shop, network);
    // The page asks, hears "never seen", and is about to fence: this is when the first one arrives.
    const commit = await app.holdAt('before-commit');
    let arrived: Promise<unknown> | undefined;
    await asItFences(page, async () => {
      arrived = first.arrive();
      await expect.poll(() => stateOf(page, firstKey)).toBe('in_progress');
    });
    const fenced = page.waitForResponse((answer) => answer.request().method() === 'DELETE');

    await quantity(page, shop).fill('2');

    expect((await fenced).status(), 'neither fenced nor done').toBe(409);
    await expect(shop.status).toHaveAttribute('data-state', 'checking');
    await commit();
    await arrived;
    await expect(shop.status).toContainText('This was already placed');
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  for (const [moment, method] of [
    ['asks what became of it', 'GET'],
    ['fences it', 'DELETE'],
  ]) {
    test(`it arrives as the page ${moment}: the words and the database agree`, { tag: '@all' }, async ({
      page,
      shop,
      network,
      db,
    }) => {
      const { first, firstKey } = await orderHeldBack(page, shop, network);
      const moved = page.waitForRequest((sent) => sent.url().includes(firstKey) && sent.method() === method);
      await quantity(page, shop).fill('2');
      await moved;
      await first.arrive();

      await expect(shop.status).toHaveAttribute('data-state', /idle|hasSucceeded/);
      const [state] = await states(db, firstKey);
      const wasOrdered = (await shop.status.getAttribute('data-state')) === 'hasSucceeded';
      expect(state).toBe(wasOrdered ? 'succeeded' : 'abandoned');
      expectCounted(await shop.gained()).toEqual({
        orders: wasOrdered ? 1 : 0,
        stockTaken: wasOrdered ? 1 : 0,
        keys: 1,
      });
    });
  }
});

function quantity(page: Page, shop: Shop): Locator {
  return page.locator('form', { has: shop.status }).getByLabel('Quantity');
}

/** Runs `work` when the page is about to send its first fence, which waits for it. */
async function asItFences(page: Page, work: () => Promise<void>): Promise<void> {
  let isFirst = true;
  await page.route('**/api/idempotency/**', async (route) => {
    if (route.request().method() === 'DELETE' && isFirst) {
      isFirst = false;
      await work();
    }
    await route.continue();
  });
}

/** The key in the form: what the next submit is sent under. */
function keyIn(page: Page, shop: Shop): Promise<string> {
  return page.locator('form', { has: shop.status }).locator('[name=idempotency_key]').inputValue();
}

/** Each of them: what is lost on a reused connection, Chromium sends again by itself. */
function expectRefused(late: LateAnswer[]): void {
  expect(late.length).toBeGreaterThan(0);
  for (const { body } of late) expect(body).toContain('"code":"key_abandoned"');
}

/** The status route's answer, asked beside the page. */
async function stateOf(page: Page, key: string): Promise<string> {
  return (await (await page.request.get(`/api/idempotency/lab.order/${key}`)).json()).state;
}

/** The states of the keys' rows; undefined where there is none. */
function states(db: Client, ...keys: string[]) {
  return Promise.all(keys.map(async (key) => (await db.idempotencyKey.findFirst({ where: { key } }))?.state));
}

function latestOrder(db: Client) {
  return db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
}
