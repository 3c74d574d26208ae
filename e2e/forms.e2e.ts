import type { Locator, Page } from '@playwright/test';
import { doubleSubmit } from 'oncekit/testing';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, holdHydration, test } from './fixtures/test.ts';

const PATH = '/examples/forms';
const ONE = { orders: 1, stockTaken: 1, keys: 1 };
const NONE = { orders: 0, stockTaken: 0, keys: 0 };

/** One of the page's forms, by its heading. */
const formOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const statusIn = (form: Locator) => form.locator('[role=status][data-state]');
const keyIn = (form: Locator) => form.locator('[name=idempotency_key]');
const ordered = (form: Locator) => expect(statusIn(form)).toHaveAttribute('data-state', 'hasSucceeded');
const button = (form: Locator, name: string) => form.getByRole('button', { name, exact: true });
const latestOrder = (db: Client) => db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });

/** Sends a form before hydration, so natively, under a key that was used before. Resolves once it shows `words`. */
async function resend(page: Page, name: string, key: string, send: (form: Locator) => Promise<void>, words: string) {
  const hydrate = await holdHydration(page);
  await page.goto(PATH, { waitUntil: 'commit' });
  const form = formOf(page, name);
  await keyIn(form).evaluate((field: HTMLInputElement, value) => {
    field.value = value;
  }, key);
  await send(form);
  await expect(form).toContainText(words);
  await hydrate();
}

const SENT_BEFORE = 'Already placed; this is the same order';
const OTHER_VALUES = 'already sent with other values';

test.describe('the simplest', () => {
  test('a refused field has its error beside it, and a double click orders once', async ({ page, shop }) => {
    await page.goto(PATH);
    const form = formOf(page, 'The simplest');
    await refuseQuantity(form);
    await expect(form.getByLabel('Quantity')).toBeFocused();
    await form.getByLabel('Quantity').fill('2');
    await doubleSubmit(button(form, 'Order mugs'));
    await ordered(form);
    await expect(form.getByLabel('Quantity')).not.toHaveAttribute('aria-invalid');
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 1 });
  });

  test('before hydration the answer page says it as well', { tag: '@all' }, async ({ page, shop }) => {
    const hydrate = await holdHydration(page);
    await page.goto(PATH, { waitUntil: 'commit' });
    const form = formOf(page, 'The simplest');
    await refuseQuantity(form);
    await hydrate();
    await expect(form.getByLabel('Quantity')).toHaveValue('99');
    expectCounted(await shop.gained()).toEqual(NONE);
  });
});

/** Asks for too many, and looks at what the field says of that. */
async function refuseQuantity(form: Locator): Promise<void> {
  const quantity = form.getByLabel('Quantity');
  await quantity.fill('99');
  await button(form, 'Order mugs').click();
  await expect(quantity).toHaveAttribute('aria-invalid', 'true');
  await expect(quantity).toHaveAccessibleDescription('At most ten.');
  await expect(form.locator('[data-field-error]')).toBeVisible();
  await expect(quantity).toHaveValue('99');
}

test.describe('a file', () => {
  const picture = (content: string, name = 'cat.png') => ({
    name,
    mimeType: 'image/png',
    buffer: Buffer.from(content.padEnd(2000, '.')),
  });
  const choose = (form: Locator, file: ReturnType<typeof picture>) =>
    form.getByLabel('Picture, at most 500 kB').setInputFiles(file);

  test('counts by its content: the same one is the same order, hydrated or not; another of its name is refused', async ({
    page,
    shop,
  }) => {
    await page.goto(PATH);
    const form = formOf(page, 'A file');
    const key = await keyIn(form).inputValue();
    await choose(form, picture('a cat'));
    await doubleSubmit(button(form, 'Order the print'));
    await ordered(form);
    await expect(form).toContainText('with your picture of 2,000 bytes');

    const send = (content: string) => async (again: Locator) => {
      await choose(again, picture(content));
      await button(again, 'Order the print').click({ noWaitAfter: true });
    };
    await resend(page, 'A file', key, send('a cat'), SENT_BEFORE);
    await resend(page, 'A file', key, send('a dog'), OTHER_VALUES);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('no file, or one too large: said beside the field, and no key is used', async ({ page, shop }) => {
    await page.goto(PATH);
    const form = formOf(page, 'A file');
    await button(form, 'Order the print').click();
    await expect(form).toContainText('Choose a picture.');
    await choose(form, picture('.'.repeat(500_001)));
    await expect(form).toContainText('This file is too large.');
    await button(form, 'Order the print').click();
    await expect(form.getByLabel('Picture, at most 500 kB')).toHaveAttribute('aria-invalid', 'true');
    expectCounted(await shop.gained()).toEqual(NONE);
    await choose(form, picture('a cat'));
    await button(form, 'Order the print').click();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});

test.describe('several buttons', () => {
  const [plain, gift] = ['Order', 'Order gift-wrapped (+ $5)'];

  test('the value of the pressed one is sent, hydrated or not, and counts in the fingerprint', async ({
    page,
    shop,
    db,
  }) => {
    await page.goto(PATH);
    const form = formOf(page, 'Several buttons');
    const key = await keyIn(form).inputValue();
    await doubleSubmit(button(form, gift));
    await ordered(form);
    expect((await latestOrder(db)).amountCents).toBe(1800 + 500);

    const press = (name: string) => (again: Locator) => button(again, name).click({ noWaitAfter: true });
    await resend(page, 'Several buttons', key, press(gift), SENT_BEFORE);
    await resend(page, 'Several buttons', key, press(plain), OTHER_VALUES);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('what stands in a disabled fieldset is not sent', { tag: '@all' }, async ({ page, shop }) => {
    await page.goto(PATH);
    const form = formOf(page, 'Several buttons');
    const noteWanted = form.getByLabel('Add a note');
    await noteWanted.check();
    await form.getByLabel('Note', { exact: true }).fill('Happy birthday');
    await noteWanted.uncheck();
    await button(form, plain).click();
    await expect(form).toContainText('not wrapped, without a note');
    await form.getByRole('link', { name: 'Order another' }).click();
    await noteWanted.check();
    await form.getByLabel('Note', { exact: true }).fill('Happy birthday'); // a success has reset the fields
    await button(form, plain).click();
    await expect(form).toContainText('not wrapped, with a note');
    await expect(noteWanted, 'what the page controls stays as it says').toBeChecked();
    expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
  });

  test('one with a formAction goes elsewhere, under a key of its own: one sample, and the form keeps its key', async ({
    page,
    shop,
    db,
  }) => {
    await page.goto(PATH);
    const form = formOf(page, 'Several buttons');
    const key = await keyIn(form).inputValue();
    await form.getByLabel('Quantity').fill('7'); // no part of a sample
    await doubleSubmit(button(form, 'Order a sample'));
    await page.waitForURL('**/orders/*');
    expectCounted(await shop.gained()).toEqual(ONE);
    const row = await db.idempotencyKey.findFirstOrThrow({ orderBy: { settledAt: { sort: 'desc', nulls: 'last' } } });
    expect(row.operation).toBe('example.sample');
    expect(row.key).not.toBe(key);
    expect(await db.idempotencyKey.count({ where: { key } })).toBe(0);
  });
});

test('two forms sent at the same time: each ends with its own order', async ({ page, shop, app }) => {
  await page.goto(PATH);
  const [picture, gift] = [formOf(page, 'A file'), formOf(page, 'Several buttons')];
  await picture.getByLabel('Picture, at most 500 kB').setInputFiles('app/icon.svg');
  const letGo = await app.holdAt('before-commit');
  await button(picture, 'Order the print').click();
  await button(gift, 'Order').click();
  for (const form of [picture, gift]) await expect(statusIn(form)).toHaveAttribute('data-state', 'executing');
  await letGo();
  for (const form of [picture, gift]) await ordered(form);
  await expect(page.locator('[data-count=example]')).toHaveText('2');
  expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
});

test.describe('steps', () => {
  test('back and forth keeps what was entered, and the key; Enter goes on; one order', async ({ page, shop, db }) => {
    await page.goto(PATH);
    const form = formOf(page, 'Steps');
    const key = await keyIn(form).inputValue();
    await expect(form.getByLabel('City')).toBeHidden();
    await form.getByLabel('Quantity').fill('2');
    await form.getByLabel('Quantity').press('Enter');
    await form.getByLabel('Name').fill('Ada');
    await form.getByLabel('City').fill('London');
    await button(form, 'Back').click();
    await expect(form.getByLabel('Quantity')).toHaveValue('2');
    await form.getByLabel('Quantity').fill('3');
    await button(form, 'Next').click();
    await button(form, 'Next').click();
    await expect(form).toContainText('3 × mug, to Ada in London.');
    await doubleSubmit(button(form, 'Place order'));
    await ordered(form);
    expect(await latestOrder(db)).toMatchObject({ quantity: 3, city: 'London', idempotencyKey: key });
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 3, keys: 1 });
  });

  test('what the server refuses is shown in its step', { tag: '@all' }, async ({ page, shop }) => {
    await page.goto(PATH);
    const form = formOf(page, 'Steps');
    await button(form, 'Next').click();
    await form.getByLabel('City').fill('London');
    await button(form, 'Next').click();
    await button(form, 'Place order').click();
    await expect(form.getByText('Enter a name.').first()).toBeVisible();
    await expect(form.getByLabel('City')).toHaveValue('London');
    expectCounted(await shop.gained()).toEqual(NONE);
  });
});

test('a dialog that is closed while it sends, and opened again, shows what became of it', async ({
  page,
  shop,
  app,
}) => {
  await page.goto(PATH);
  const dialog = page.getByRole('dialog');
  const open = button(formOf(page, 'A dialog'), 'Open the dialog');
  await open.click();
  const letGo = await app.holdAt('before-commit');
  await button(dialog, 'Order').click();
  await expect(statusIn(dialog)).toHaveAttribute('data-state', 'executing');
  await button(dialog, 'Close').click();
  await expect(statusIn(dialog)).toHaveCount(0);
  await open.click();
  await expect(statusIn(dialog)).toHaveAttribute('data-state', 'checking');
  await letGo();
  await expect(statusIn(dialog)).toContainText('This was already placed');
  expectCounted(await shop.gained()).toEqual(ONE);
  // Told once. Opened again, it is for another order.
  await button(dialog, 'Close').click();
  await open.click();
  await expect(statusIn(dialog)).toHaveAttribute('data-state', 'idle');
  await button(dialog, 'Order').click();
  await ordered(dialog);
  expectCounted(await shop.gained()).toEqual({ orders: 2, stockTaken: 2, keys: 2 });
});

test.describe('without JavaScript', () => {
  test.use({ javaScriptEnabled: false });

  test('the simplest: a refused field says it, keeps its value, and then it orders', async ({ page, shop }) => {
    await page.goto(PATH);
    const form = formOf(page, 'The simplest');
    await refuseQuantity(form);
    await form.getByLabel('Quantity').fill('2');
    await button(form, 'Order mugs').click();
    await ordered(form);
    expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 1 });
  });

  test('the pressed button’s value, the sample’s own key and all steps work', { tag: '@all' }, async ({
    page,
    shop,
    db,
  }) => {
    await page.goto(PATH);
    const gift = formOf(page, 'Several buttons');
    await button(gift, 'Order gift-wrapped (+ $5)').click();
    await expect(gift).toContainText('gift-wrapped, without a note');
    expect((await latestOrder(db)).amountCents).toBe(1800 + 500);

    await page.goto(PATH);
    await button(gift, 'Order a sample').click();
    await page.waitForURL('**/orders/*');

    await page.goto(PATH);
    const steps = formOf(page, 'Steps');
    await expect(button(steps, 'Next')).toBeHidden();
    await steps.getByLabel('Name').fill('Ada');
    await steps.getByLabel('City').fill('London');
    await button(steps, 'Place order').click();
    await expect(steps).toContainText('1 × mug, ordered in steps');
    expectCounted(await shop.gained()).toEqual({ orders: 3, stockTaken: 3, keys: 3 });
  });
});
