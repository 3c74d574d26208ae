import type { Locator, Page } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, holdRequests, hydrated, test } from './fixtures/test.ts';
import { button, formOf, NONE, ordered, statusIn, untilSent, WILD } from './fixtures/wild.ts';

/** Forms whose page is opened again, and forms that are still there behind their redirect (app/examples/wild). */

const SHELVES = `${WILD}/shelves`;
const KITCHEN = `${SHELVES}/kitchen`;
const MODALS = `${WILD}/modal`;
const TWO = { orders: 2, stockTaken: 5, keys: 2 };
const POST = { method: 'POST' };
const ALREADY = 'This was already sent, and it went through.';

test.describe('a page that was saved', () => {
  for (const [way, open] of [
    ['a link', (page: Page) => page.getByRole('link', { name: 'The kitchen' }).click()],
    ['its address', (page: Page) => page.goto(KITCHEN)],
  ] as const) {
    test(`B4 opened again by ${way} takes other values, and each save is one`, async ({ page, shop, db }) => {
      const said = await listen(page);
      await page.goto(KITCHEN);
      await save(page, '2');
      await open(page);
      await save(page, '3');
      expectCounted(await shop.gained()).toEqual(TWO);
      expect(await quantities(db, 2)).toEqual([2, 3]);
      expect(said()).not.toContainEqual(expect.stringContaining('already'));
      await expect(page.getByRole('list', { name: 'Shelves' })).toContainText('3 ordered last');
    });
  }

  test('B4 opened again with the same values is another save, too', { tag: '@all' }, async ({ page, shop }) => {
    await page.goto(KITCHEN);
    for (const orders of [1, 2, 3]) {
      await save(page, '2');
      expectCounted(await shop.gained()).toEqual({ orders, stockTaken: 2 * orders, keys: orders });
      await page.getByRole('link', { name: 'The kitchen' }).click();
    }
  });

  test('B5 gone back to tells that it went through', async ({ page, shop }) => {
    await page.goto(KITCHEN);
    await save(page, '2');
    await page.goBack();
    await expectTold(kitchen(page));
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
  });

  test('B5 gone back to, and loaded anew by that, tells it under another key', async ({ page, shop }) => {
    await page.goto(KITCHEN);
    await save(page, '2');
    await page.goto('/examples');
    await page.goBack();
    await page.goBack();
    await expectTold(kitchen(page));
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
  });

  test('B5 loaded again before it has led elsewhere tells it', async ({ page, shop, network }) => {
    await page.goto(KITCHEN);
    await network.break({ match: POST, kind: 'delay-answer', ms: 20_000, times: 1 });
    await send(page, '2');
    await expect.poll(async () => (await shop.gained()).orders).toBe(1);
    await page.reload();
    await expectTold(kitchen(page));
    await expect(page.getByRole('link', { name: 'Show it' })).toHaveAttribute('href', SHELVES);
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
  });
});

test.describe('the answer of a save is lost', () => {
  test('B5 a person who waits is led on, is told once, and is free then', async ({ page, shop, network }) => {
    await page.goto(KITCHEN);
    await network.break({ match: POST, kind: 'lose-answer', times: 1000 });
    await send(page, '2');
    await expect(statusIn(kitchen(page))).toContainText('Trying again');
    await network.heal();
    await page.waitForURL(at(SHELVES));
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
    await page.getByRole('link', { name: 'The kitchen' }).click();
    await expectTold(kitchen(page));
    await comeAgain(page);
    await save(page, '3');
    expectCounted(await shop.gained()).toEqual(TWO);
  });

  test('B5 who loads the page again gets a link to where it led', async ({ page, shop, network }) => {
    await page.goto(KITCHEN);
    await network.break({ match: POST, kind: 'lose-answer', times: 1000 });
    await send(page, '2');
    await expect(statusIn(kitchen(page))).toContainText('Trying again');
    await page.reload();
    await expectTold(kitchen(page));
    await page.getByRole('link', { name: 'Show it' }).click();
    await page.waitForURL(at(SHELVES));
    expectCounted(await shop.gained()).toMatchObject({ orders: 1 });
  });

  test('B5 who was left in doubt, and comes by a link, is told once', async ({ page, shop, network }) => {
    await page.goto(KITCHEN);
    await network.break({ match: POST, kind: 'lose-answer', times: 1000 });
    await send(page, '2');
    await expect(statusIn(kitchen(page))).toContainText('Trying again');
    await page.getByRole('link', { name: 'All shelves' }).click();
    await page.waitForURL(at(SHELVES));
    await network.heal();
    await page.getByRole('link', { name: 'The kitchen' }).click();
    await expectTold(kitchen(page));
    await comeAgain(page);
    await save(page, '3');
    expectCounted(await shop.gained()).toEqual(TWO);
  });
});

test.describe('a form in a layout', () => {
  for (const [where, start] of [
    ['another page', KITCHEN],
    ['the page on which it stands', SHELVES],
  ] as const) {
    test(`B2 that was led to ${where} says so, and can be used again`, async ({ page, shop, db }) => {
      await page.goto(start);
      await order(layout(page), '2');
      await page.waitForURL(at(SHELVES));
      await expectFree(layout(page));
      await order(layout(page), '3');
      await expectFree(layout(page));
      await expect.poll(() => shop.gained()).toEqual(TWO);
      expect(await quantities(db, 2)).toEqual([2, 3]);
    });
  }

  test('B2 whose person has followed a link before the answer', async ({ page, shop, network }) => {
    await page.goto(SHELVES);
    await network.break({ match: POST, kind: 'delay-answer', ms: 3000, times: 1 });
    await order(layout(page), '2');
    await expect.poll(async () => (await shop.gained()).orders).toBe(1);
    await page.getByRole('link', { name: 'The kitchen' }).click();
    await expectFree(layout(page));
    await order(layout(page), '3');
    await expectFree(layout(page));
    await expect.poll(() => shop.gained()).toEqual(TWO);
  });

  test('B2 whose person has followed a link while it tried again', async ({ page, shop, network }) => {
    await page.goto(SHELVES);
    await network.break({ match: POST, kind: 'lose-answer', times: 1000 });
    await order(layout(page), '2');
    await expect(statusIn(layout(page))).toContainText('Trying again');
    await page.getByRole('link', { name: 'The kitchen' }).click();
    await page.waitForURL(at(KITCHEN));
    await network.heal();
    await page.waitForURL(at(SHELVES));
    await expectFree(layout(page));
    await order(layout(page), '3');
    await expectFree(layout(page));
    await expect.poll(() => shop.gained()).toEqual(TWO);
  });
});

test.describe('a form in an intercepted modal', () => {
  test('B4 that closes is another one, each time it is opened', async ({ page, shop }) => {
    const said = await listen(page);
    await page.goto(MODALS);
    for (const [n, quantity] of ['2', '3'].entries()) {
      await page.getByRole('link', { name: 'The kitchen' }).click();
      await order(modal(page), quantity);
      await expect(modal(page)).toBeHidden();
      await page.waitForURL(at(MODALS));
      expectCounted(await shop.gained()).toMatchObject({ orders: n + 1 });
    }
    expectCounted(await shop.gained()).toEqual(TWO);
    expect(said()).not.toContainEqual(expect.stringContaining('already'));
  });

  test('B2 that stays says that it went through, and can be used again', async ({ page, shop }) => {
    await page.goto(MODALS);
    await page.getByRole('link', { name: 'The kitchen' }).click();
    await modal(page).getByLabel('Stay here').check();
    await order(modal(page), '2');
    await expectFree(modal(page));
    await order(modal(page), '3');
    await expect(modal(page)).toBeHidden();
    expectCounted(await shop.gained()).toEqual(TWO);
  });
});

test('a first visit asks nothing', async ({ page, shop }) => {
  const asked = countQuestions(page);
  await page.goto(KITCHEN);
  await hydrated(page);
  await kitchen(page).getByLabel('Quantity').fill('2');
  await untilSent(page);
  expect(asked()).toBe(0);
  expectCounted(await shop.gained()).toEqual(NONE);
});

test('B2 a click while the page still asks goes out once, under the key of the page', async ({ page, shop, db }) => {
  await page.goto(KITCHEN);
  await save(page, '2');
  const letGo = await holdRequests(page, '**/api/idempotency/**');
  const html = await (await page.goto(KITCHEN))?.text();
  await expect(statusIn(kitchen(page))).toHaveAttribute('data-state', 'checking');
  await shop.recount();
  await send(page, '3');
  await button(kitchen(page), 'Save').click();
  await untilSent(page);
  expectCounted(await shop.gained()).toEqual(NONE);
  await letGo();
  await page.waitForURL(at(SHELVES));
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 3, keys: 1 });
  const { idempotencyKey } = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
  expect(html).toContain(`value="${idempotencyKey}"`);
});

test.describe('without the kit', { tag: '@all' }, () => {
  const FOUR = { orders: 4, stockTaken: 8, keys: 0 };

  test('a page that is opened again, or gone back to, orders once more', async ({ page, shop }) => {
    await page.goto(KITCHEN);
    const bare = formOf(page, 'The kitchen, without oncekit');
    for (const come of [
      () => page.getByRole('link', { name: 'The kitchen' }).click(),
      () => page.goBack(),
      () => page.goto(KITCHEN),
      () => page.goBack(),
    ]) {
      await orderWithoutKit(bare, '2');
      await page.waitForURL(at(SHELVES));
      await come();
      await page.waitForURL(at(KITCHEN));
    }
    expectCounted(await shop.gained()).toEqual(FOUR);
  });
});

function kitchen(page: Page): Locator {
  return formOf(page, 'The kitchen');
}

function layout(page: Page): Locator {
  return formOf(page, 'A form in a layout');
}

/** The form in it, and not the twin below. */
function modal(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Mugs for the kitchen' }).locator('form').first();
}

/** This page, and none below it. */
function at(path: string): (url: URL) => boolean {
  return ({ pathname }) => pathname === path;
}

async function send(page: Page, quantity: string): Promise<void> {
  await kitchen(page).getByLabel('Quantity').fill(quantity);
  await button(kitchen(page), 'Save').click();
}

/** Saves the kitchen's page, and waits until it has led to the list. */
async function save(page: Page, quantity: string): Promise<void> {
  await send(page, quantity);
  await page.waitForURL(at(SHELVES));
}

async function order(form: Locator, quantity: string): Promise<void> {
  await form.getByLabel('Quantity').fill(quantity);
  await button(form, 'Order').click();
}

async function orderWithoutKit(form: Locator, quantity: string): Promise<void> {
  await form.getByLabel('Quantity').fill(quantity);
  await button(form, 'Order without oncekit').click();
}

/** Goes to the list and comes back by a link. */
async function comeAgain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'All shelves' }).click();
  await page.waitForURL(at(SHELVES));
  await page.getByRole('link', { name: 'The kitchen' }).click();
  await page.waitForURL(at(KITCHEN));
}

/** It has told a person who comes back, and has sent nothing. */
async function expectTold(form: Locator): Promise<void> {
  await expect(statusIn(form)).toHaveText(ALREADY);
  await expect(button(form, 'Start over')).toBeVisible();
}

/** It says that it went through, and has fields for the next one. */
async function expectFree(form: Locator): Promise<void> {
  await ordered(form);
  await expect(statusIn(form)).toHaveText('It went through.');
  await expect(form.getByLabel('Quantity')).toHaveValue('1');
}

/** The latest orders, in the order in which they were placed. */
async function quantities(db: Client, take: number): Promise<number[]> {
  const orders = await db.order.findMany({ orderBy: { createdAt: 'desc' }, take });
  return orders.map(({ quantity }) => quantity).reverse();
}

/** Hears all words that forms say from the next `goto` on. */
async function listen(page: Page): Promise<() => string[]> {
  const said: string[] = [];
  await page.exposeFunction('e2eSaid', (words: string) => void said.push(words));
  await page.addInitScript(() => {
    const tell = (globalThis as unknown as { e2eSaid: (words: string) => void }).e2eSaid;
    new MutationObserver(() => {
      for (const { textContent } of document.querySelectorAll('[role=status][data-state]')) {
        if (textContent) tell(textContent);
      }
    }).observe(document, { subtree: true, childList: true, characterData: true });
  });
  return () => said;
}

/** Counts how often the page asks the status route. */
function countQuestions(page: Page): () => number {
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/idempotency/')) asked++;
  });
  return () => asked;
}
