import type { Locator, Page } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';
import {
  button,
  enter,
  expectQuestion,
  formOf,
  holdEnter,
  ONE,
  order,
  ordered,
  statusIn,
  TO_WILD,
  untilSent,
  WILD,
} from './fixtures/wild.ts';

/** Values decide what is another order, whatever events came with them or did not (app/examples/wild). */

test('B2 what is chosen by controls of a library is ordered by the next click, each time under a new key', async ({
  page,
  shop,
  db,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'Controls of a library');
  await choose(page, form, '2');
  await order(form);
  const changes = [
    () => choose(page, form, '3'),
    () => form.getByRole('checkbox', { name: 'As a gift' }).click(),
    () => form.getByRole('switch', { name: 'Express' }).click(),
    () => form.getByRole('radio', { name: 'A box' }).click(),
  ];
  for (const [n, change] of changes.entries()) {
    await change();
    const wanted = await wantedIn(form, db);
    await button(form, 'Order').click();
    await expect.poll(async () => (await shop.gained()).orders).toBe(n + 2);
    await ordered(form);
    expectCounted(await latestOrder(db)).toMatchObject(wanted);
  }
  expect(await shop.posts()).toBe(5);
  expectCounted(await shop.gained()).toMatchObject({ orders: 5, keys: 5 });
});

test('B2 what is entered in fields outside of the form is ordered by the next click', async ({ page, shop, db }) => {
  await page.goto(WILD);
  const form = formOf(page, 'Fields outside of the form');
  await order(form);
  await form.getByLabel('Wrapping').press('ArrowDown');
  const wanted = await wantedIn(form, db);
  await button(form, 'Order').click();
  await expect.poll(async () => (await shop.gained()).orders).toBe(2);
  await ordered(form);
  expectCounted(await latestOrder(db)).toMatchObject(wanted);
  await enter(form.getByLabel('Quantity'), '3');
  await button(form, 'Order').click();
  await expect.poll(() => shop.gained()).toEqual({ orders: 3, stockTaken: 5, keys: 3 });
});

test('B2 an unchanged order is asked about, and sent once more by the button that says so alone', async ({
  page,
  shop,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  await order(form);
  await button(form, 'Order').click();
  await expectQuestion(form);
  await untilSent(page);
  expect(await shop.posts()).toBe(1);
  await button(form, 'Send once more').click();
  await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
  await expect(statusIn(form)).toHaveText('It went through.');
  await button(form, 'Order').click();
  await expectQuestion(form);
  expectCounted(await shop.gained()).toMatchObject({ orders: 2, keys: 2 });
});

test('B2 a reset by the success is no edit', async ({ page, shop }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  await enter(form.getByLabel('Quantity'), '2');
  await order(form);
  await expect(form.getByLabel('Quantity'), 'reset by the success').toHaveValue('1');
  await button(form, 'Order').click();
  await expectQuestion(form);
  await untilSent(page);
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 1 });
});

test('B2 an event that changes nothing unlocks nothing, and takes no words away', async ({ page, shop }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  await order(form);
  await form.getByLabel('Quantity').dispatchEvent('input');
  await expect(statusIn(form)).toHaveText('It went through.');
  await button(form, 'Order').click();
  await expectQuestion(form);
  await untilSent(page);
  expect(await shop.posts()).toBe(1);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('B2 the button that sends once more does so once, clicked twice or held', { tag: '@all' }, async ({
  page,
  shop,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  const more = button(form, 'Send once more');
  await order(form);
  await button(form, 'Order').click();
  await more.dblclick();
  await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
  await expect(statusIn(form)).toHaveText('It went through.');
  await button(form, 'Order').click();
  await more.focus();
  await holdEnter(page, async () => (await shop.gained()).orders > 2 && !(await more.isVisible()));
  await ordered(form);
  expect(await shop.posts()).toBe(3);
  expectCounted(await shop.gained()).toEqual({ orders: 3, stockTaken: 3, keys: 3 });
});

test('B2 what is chosen while the first order is on its way is another order', { tag: '@all' }, async ({
  page,
  shop,
  network,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'Controls of a library');
  await network.break({ match: TO_WILD, kind: 'delay-answer', ms: 3000, times: 1 });
  await button(form, 'Order').click();
  await expect.poll(() => shop.posts()).toBe(1);
  await choose(page, form, '3');
  await ordered(form);
  await expect(form.getByRole('combobox')).toHaveText(/^3/);
  await button(form, 'Order').click();
  await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 4, keys: 2 });
});

for (const [name, field] of [
  ['A captcha', 'cf-turnstile-response'],
  ['A stamp', 'stamp'],
] as const) {
  test(`B2 ${field}, which changes by itself, sends nothing once more, and a person’s edit does`, async ({
    page,
    shop,
  }) => {
    await page.goto(WILD);
    const form = formOf(page, name);
    await order(form);
    await untilChanged(form, field);
    await expect(statusIn(form)).toHaveText('It went through.');
    await button(form, 'Order').click();
    await expectQuestion(form);
    await untilSent(page);
    expect(await shop.posts()).toBe(1);
    await enter(form.getByLabel('Quantity'), '2');
    await button(form, 'Order').click();
    await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 3, keys: 2 });
  });
}

test('B4 a captcha that changes while the form tries again gives no key up', async ({ page, shop, network }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A captcha');
  await network.break({ match: TO_WILD, kind: 'lose-request', times: 1000 });
  await button(form, 'Order').click();
  await expect(statusIn(form)).toContainText('Trying again');
  await untilChanged(form, 'cf-turnstile-response');
  await button(form, 'Order').click();
  await untilSent(page);
  await expect(statusIn(form)).toContainText('Trying again');
  await network.heal();
  await ordered(form);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test.describe('B4 other values, chosen while the form tries again', () => {
  test('the first was not done: its key is fenced, and the click orders the other values', async ({
    page,
    shop,
    network,
    db,
  }) => {
    await page.goto(WILD);
    const form = formOf(page, 'Controls of a library');
    const firstKey = await keyIn(form);
    await network.break({ match: TO_WILD, kind: 'lose-request', times: 1000 });
    await button(form, 'Order').click();
    await expect(statusIn(form)).toContainText('Trying again');
    const fenced = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await choose(page, form, '3');
    await button(form, 'Order').click();
    expect((await fenced).url()).toContain(firstKey);
    await network.heal();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 3, keys: 2 });
    expect((await latestOrder(db)).idempotencyKey).not.toBe(firstKey);
    expect((await db.idempotencyKey.findFirst({ where: { key: firstKey } }))?.state).toBe('abandoned');
  });

  test('the first was done: it says so, and orders no second one', async ({ page, shop, network }) => {
    await page.goto(WILD);
    const form = formOf(page, 'Controls of a library');
    await network.break({ match: TO_WILD, kind: 'lose-answer', times: 1000 });
    await button(form, 'Order').click();
    await expect(statusIn(form)).toContainText('Trying again');
    await choose(page, form, '3');
    await button(form, 'Order').click();
    // It is noticed by the click, or before it: then the click is asked about.
    await expect(statusIn(form)).toContainText(/This was already sent|Send it once more/);
    await network.heal();
    await untilSent(page);
    expect(await shop.posts()).toBe(0);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('nobody clicks: it is noticed all the same, and the old values are sent no more', { tag: '@all' }, async ({
    page,
    shop,
    network,
  }) => {
    await page.goto(WILD);
    const form = formOf(page, 'Controls of a library');
    await network.break({ match: TO_WILD, kind: 'lose-request', times: 1000 });
    await button(form, 'Order').click();
    await expect(statusIn(form)).toContainText('Trying again');
    const fenced = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await choose(page, form, '3');
    await fenced;
    await network.heal();
    await expect(statusIn(form)).toHaveAttribute('data-state', 'idle');
    await untilSent(page);
    expect(await shop.posts()).toBe(0);
    expectCounted(await shop.gained()).toMatchObject({ orders: 0 });
  });

  test('they are in fields outside of the form', { tag: '@all' }, async ({ page, shop, network }) => {
    await page.goto(WILD);
    const form = formOf(page, 'Fields outside of the form');
    await network.break({ match: TO_WILD, kind: 'lose-request', times: 1000 });
    await button(form, 'Order').click();
    await expect(statusIn(form)).toContainText('Trying again');
    const fenced = page.waitForResponse((answer) => answer.request().method() === 'DELETE');
    await enter(form.getByLabel('Quantity'), '3');
    await button(form, 'Order').click();
    await fenced;
    await network.heal();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 3, keys: 2 });
  });
});

/** Chooses in a portal. */
async function choose(page: Page, form: Locator, quantity: string): Promise<void> {
  await form.getByRole('combobox').click();
  await page.getByRole('option', { name: quantity, exact: true }).click();
}

/** Until a script of the page has changed the field. */
async function untilChanged(form: Locator, name: string): Promise<void> {
  const field = form.locator(`[name=${name}]`);
  const before = await field.inputValue();
  await expect.poll(() => field.inputValue()).not.toBe(before);
}

/** The order that the form would send now. Not what it shows: a reset changes no control that does not listen to it. */
async function wantedIn(form: Locator, db: Client): Promise<{ quantity: number; amountCents: number }> {
  const values = await form
    .locator('form')
    .evaluate((each: HTMLFormElement) =>
      Object.fromEntries([...new FormData(each)].map(([name, value]) => [name, `${value}`])),
    );
  const { priceCents } = await db.product.findUniqueOrThrow({ where: { sku: 'mug' } });
  const quantity = Number(values.quantity);
  const extraCents =
    (values.gift ? 500 : 0) + (values.express ? 700 : 0) + ({ paper: 100, box: 300 }[`${values.wrap}`] ?? 0);
  return { quantity, amountCents: quantity * priceCents + extraCents };
}

function keyIn(form: Locator): Promise<string> {
  return form.locator('[name=idempotency_key]').inputValue();
}

function latestOrder(db: Client) {
  return db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
}
