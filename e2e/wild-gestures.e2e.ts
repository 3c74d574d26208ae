import type { Locator, Page } from '@playwright/test';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { Shop } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';
import {
  button,
  declined,
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

/** One gesture of a person is one submit, whatever the answer to it (app/examples/wild). */

test.describe('a declined card', () => {
  test('B2 Enter held down is one attempt, and pressed anew it is another', async ({ page, shop }) => {
    const form = await open(page);
    await form.getByLabel('Quantity').focus();
    await holdEnter(page, () => declined(form).isVisible());
    await expectAttempts(page, shop, 1);
    await page.keyboard.press('Enter');
    await expectAttempts(page, shop, 2);
  });

  test('B2 a double click is one attempt, and a click behind it another', async ({ page, shop }) => {
    const form = await open(page);
    const click = await aim(page, button(form, 'Order'));
    await click(1);
    await expect(declined(form)).toBeVisible();
    await click(2);
    await expectAttempts(page, shop, 1);
    await click(1);
    await click(2);
    await expectAttempts(page, shop, 2);
  });

  test('B2 what was pressed before the answer could be read is no answer to it', async ({ page, shop, network }) => {
    const form = await open(page);
    const click = await aim(page, button(form, 'Order'));
    await network.break({ match: TO_WILD, kind: 'delay-answer', ms: 3000, times: 2 });
    await click(1);
    await expect.poll(() => shop.posts()).toBe(1);
    await page.mouse.down();
    await expect(declined(form)).toBeVisible();
    await page.mouse.up();
    await expectAttempts(page, shop, 1);
    await click(1);
    await expect.poll(() => shop.posts()).toBe(2);
    await button(form, 'Order').focus();
    await page.keyboard.down(' ');
    await expect(declined(form)).toBeVisible();
    await page.keyboard.up(' ');
    await expectAttempts(page, shop, 2);
  });

  for (const gap of [0, 50, 150, 300, 400, 500, 600]) {
    // A system takes clicks half a second apart for two.
    const isDouble = gap <= 500;
    test(`B2 a second click ${gap} ms behind the first, with the answer between them`, { tag: '@all' }, async ({
      page,
      shop,
    }) => {
      const form = await open(page);
      const click = await aim(page, button(form, 'Order'));
      await click(1);
      await page.waitForTimeout(gap);
      if (!isDouble) await expect(declined(form)).toBeVisible();
      await click(isDouble ? 2 : 1);
      await expectAttempts(page, shop, isDouble ? 1 : 2);
      // The mouse is on the button still.
      await click(1);
      await expectAttempts(page, shop, isDouble ? 2 : 3);
    });

    test(`B2 a second click ${gap} ms behind the first, with a later answer`, { tag: '@all' }, async ({
      page,
      shop,
      network,
    }) => {
      const form = await open(page);
      const click = await aim(page, button(form, 'Order'));
      await network.break({ match: TO_WILD, kind: 'delay-answer', ms: 3000, times: 1 });
      await click(1);
      await page.waitForTimeout(gap);
      await click(1);
      await expectAttempts(page, shop, 1);
      // The mouse is on the button still.
      await click(1);
      await expectAttempts(page, shop, 2);
    });
  }

  test('B2 clicks with neither pointer nor key, as of a screen reader, are gestures of their own', async ({
    page,
    shop,
  }) => {
    const form = await open(page);
    await clickByScript(button(form, 'Order'));
    await expectAttempts(page, shop, 1);
    await clickByScript(button(form, 'Order'));
    await expectAttempts(page, shop, 2);
  });

  test('B2 such a click is none of a key that was pressed before the answer', async ({ page, shop, network }) => {
    const form = await open(page);
    await network.break({ match: TO_WILD, kind: 'delay-answer', ms: 3000, times: 1 });
    await clickByScript(button(form, 'Order'));
    await expect.poll(() => shop.posts()).toBe(1);
    await page.keyboard.press('Tab');
    await expectAttempts(page, shop, 1);
    await clickByScript(button(form, 'Order'));
    await expectAttempts(page, shop, 2);
  });

  test('B2 nor of a pointer that was moved away', { tag: '@all' }, async ({ page, shop, network }) => {
    const form = await open(page);
    await network.break({ match: TO_WILD, kind: 'delay-answer', ms: 3000, times: 1 });
    await clickByScript(button(form, 'Order'));
    await expect.poll(() => shop.posts()).toBe(1);
    await button(form, 'Order').hover();
    await page.mouse.down();
    await formOf(page, 'One more').hover();
    await page.mouse.up();
    await expectAttempts(page, shop, 1);
    await clickByScript(button(form, 'Order'));
    await expectAttempts(page, shop, 2);
  });

  test('B2 a finger taps once for each attempt', { tag: '@all' }, async ({ browser, baseURL, shop }) => {
    const context = await browser.newContext({ hasTouch: true, viewport: { width: 390, height: 844 }, baseURL });
    const page = await context.newPage();
    const form = await open(page);
    for (const attempts of [1, 2]) {
      await button(form, 'Order').tap();
      await expectAttempts(page, shop, attempts);
      // Two taps within half a second are a double tap.
      await page.waitForTimeout(600);
    }
    await context.close();
  });

  test('B2 code that submits it once more, without a gesture, sends nothing', async ({ page, shop }) => {
    const form = await open(page);
    await button(form, 'Order').click();
    await expectAttempts(page, shop, 1);
    await submitByScript(form);
    await expectAttempts(page, shop, 1);
    await enter(form.getByLabel('Quantity'), '2');
    await submitByScript(form);
    await expectAttempts(page, shop, 2);
  });
});

test('B2 Enter held down on a value that is refused is one attempt, and on a better one an order', {
  tag: '@all',
}, async ({ page, shop }) => {
  await page.goto(WILD);
  const form = formOf(page, 'A form at the page’s end');
  const quantity = form.getByLabel('Quantity');
  await enter(quantity, '20');
  await holdEnter(page, () => form.getByText('At most ten.').first().isVisible());
  expect(await shop.posts()).toBe(1);
  await enter(quantity, '2');
  await holdEnter(page, () => statusIn(form).getByText('It went through.').isVisible());
  expect(await shop.posts()).toBe(2);
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 2, keys: 1 });
});

test.describe('an order that went through', () => {
  test('B2 clicks with neither pointer nor key are asked about', async ({ page, shop }) => {
    await page.goto(WILD);
    const form = formOf(page, 'A form at the page’s end');
    await clickByScript(button(form, 'Order'));
    await ordered(form);
    await clickByScript(button(form, 'Order'));
    await expectQuestion(form);
    await untilSent(page);
    expect(await shop.posts()).toBe(1);
    expectCounted(await shop.gained()).toEqual(ONE);
  });

  test('B2 code that submits it once more, without a gesture, sends nothing, and other values are another order', async ({
    page,
    shop,
  }) => {
    await page.goto(WILD);
    const form = formOf(page, 'A form at the page’s end');
    await order(form);
    await submitByScript(form);
    await untilSent(page);
    expect(await shop.posts()).toBe(1);
    await expect(statusIn(form)).toHaveText('It went through.');
    await enter(form.getByLabel('Quantity'), '2');
    await submitByScript(form);
    await expect.poll(() => shop.gained()).toEqual({ orders: 2, stockTaken: 3, keys: 2 });
  });

  test('B2 Enter held down is one order, and no question', { tag: '@all' }, async ({ page, shop }) => {
    await page.goto(WILD);
    const form = formOf(page, 'A form at the page’s end');
    await form.getByLabel('Quantity').focus();
    const words = statusIn(form).getByText('It went through.');
    await holdEnter(page, () => words.isVisible());
    await expect(statusIn(form)).toHaveText('It went through.');
    expect(await shop.posts()).toBe(1);
    expectCounted(await shop.gained()).toEqual(ONE);
  });
});

test('B2 a button alone whose every click is meant: three clicks are three, and Enter held down is one', async ({
  page,
  shop,
}) => {
  await page.goto(WILD);
  const form = formOf(page, 'One more');
  const more = button(form, 'One more mug');
  for (const orders of [1, 2, 3]) {
    await more.click();
    await expect.poll(async () => (await shop.gained()).orders).toBe(orders);
    await ordered(form);
  }
  await more.focus();
  await holdEnter(page, async () => (await shop.gained()).orders > 3);
  expect(await shop.posts()).toBe(4);
  expectCounted(await shop.gained()).toEqual({ orders: 4, stockTaken: 4, keys: 4 });
});

async function open(page: Page): Promise<Locator> {
  await page.goto(WILD);
  return formOf(page, 'A declined card');
}

/**
 * So many attempts were refused, and no other is under way. Each has a key of its own, which is refused for good. Ends once somebody
 * could have seen that: what is pressed before is no answer to it.
 */
async function expectAttempts(page: Page, shop: Shop, attempts: number): Promise<void> {
  const refused = { orders: 0, stockTaken: 0, keys: attempts };
  await expect.poll(() => shop.gained()).toEqual(refused);
  await expect(declined(page)).toBeVisible();
  await untilSent(page);
  expect(await shop.posts()).toBe(attempts);
  expectCounted(await shop.gained()).toEqual(refused);
  await page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
  });
}

/** Clicks by the bare mouse, the first or the second of a double click. */
async function aim(page: Page, target: Locator): Promise<(clickCount: 1 | 2) => Promise<void>> {
  await target.hover();
  return async (clickCount) => {
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
  };
}

/** When what is there now has been painted, as by somebody who has heard it. */
function clickByScript(target: Locator): Promise<void> {
  return target.evaluate(async (each: HTMLButtonElement) => {
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
    each.click();
  });
}

function submitByScript(form: Locator): Promise<void> {
  return form.locator('form').evaluate((each: HTMLFormElement) => each.requestSubmit());
}
