/** The stranger's own tests of the form, with what `oncekit/testing` gives them. They count orders in the database. */
const HEAD = `import { expect, type Page, test } from '@playwright/test';
import { doubleSubmit, expectExactlyOne, loseResponse, NotExactlyOneError, reloadMidFlight } from 'oncekit/testing';
import pg from 'pg';

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
test.beforeAll(() => db.connect());
test.afterAll(() => db.end());

/** Where a page is, by the app's \`basePath\` and \`trailingSlash\`. */
const at = (path: string) => (process.env.BASE_PATH ?? '') + path + (process.env.TRAILING_SLASH ?? '');
const orders = async () => Number((await db.query('SELECT count(*) FROM "Order"')).rows[0].count);
const button = (page: Page) => page.getByRole('button', { name: 'Place order' });

test.beforeEach(({ page }) => page.goto(at('/checkout'), { waitUntil: 'networkidle' }));
`;

export const TESTS: Record<string, string> = {
  'playwright.config.ts': `import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: 'tests',
  workers: 1,
  use: {
    baseURL: process.env.BASE_URL,
    launchOptions: JSON.parse(process.env.LAUNCH_OPTIONS ?? '{}'),
  },
});
`,
  'tests/with-oncekit.spec.ts': `${HEAD}
const placed = (page: Page) => expect(page.getByRole('status')).toHaveAttribute('data-state', 'hasSucceeded');

test('a double submit makes one order', async ({ page }) => {
  await expectExactlyOne(orders, async () => {
    await doubleSubmit(button(page));
    await placed(page);
  });
});

test('a lost answer makes one order', async ({ page }) => {
  await expectExactlyOne(orders, async () => {
    const lost = await loseResponse(page, { url: '**' + at('/checkout') });
    await button(page).click();
    await placed(page);
    expect(lost.count).toBe(1);
  });
});

test('an answer that the network loses makes one order', async ({ page, request }) => {
  const rule = { match: { method: 'POST', path: at('/checkout') }, kind: 'lose-answer', times: 2 };
  expect((await request.post('/__proxy/faults', { data: rule })).ok()).toBe(true);
  await expectExactlyOne(orders, async () => {
    await button(page).click();
    await placed(page);
  });
  const log: { fault: string | null }[] = await (await request.get('/__proxy/log')).json();
  expect(log.filter(({ fault }) => fault === 'lose-answer')).toHaveLength(2);
});

test('a reload while the order is on its way makes one order', async ({ page }) => {
  await expectExactlyOne(orders, async () => {
    await reloadMidFlight(page, () => button(page).click());
    await placed(page);
  });
});

test('without JavaScript it makes one order', async ({ browser, baseURL }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL });
  const page = await context.newPage();
  await page.goto(at('/checkout'));
  await expectExactlyOne(orders, async () => {
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await button(page).click();
    await answered;
  });
  await context.close();
});
`,
  'tests/without-oncekit.spec.ts': `${HEAD}
test('before the diff, a double submit makes two orders, and the check says so', async ({ page }) => {
  const before = await orders();
  const checked = expectExactlyOne(orders, async () => {
    await doubleSubmit(button(page));
    await expect.poll(orders).toBe(before + 2);
  });
  await expect(checked).rejects.toThrow(NotExactlyOneError);
});

test('before the diff, sending again after a lost answer makes two orders, and the check says so', async ({ page }) => {
  const before = await orders();
  const checked = expectExactlyOne(orders, async () => {
    const lost = await loseResponse(page, { url: '**' + at('/checkout') });
    await button(page).click();
    await expect.poll(() => lost.count).toBe(1);
    await page.goto(at('/checkout'), { waitUntil: 'networkidle' });
    await button(page).click();
    await expect.poll(orders).toBe(before + 2);
  });
  await expect(checked).rejects.toThrow(NotExactlyOneError);
});
`,
};

/** Of the form of rows in docs/forms.md. */
export const FORM_TESTS: Record<string, string> = {
  'tests/lines.spec.ts': `import { expect, type Page, test } from '@playwright/test';
import { doubleSubmit, expectExactlyOne } from 'oncekit/testing';
import pg from 'pg';

const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
test.beforeAll(() => db.connect());
test.afterAll(() => db.end());

/** Two rows come of one intent. */
const intents = async () => Number((await db.query('SELECT count(*) FROM "Order"')).rows[0].count) / 2;
const send = (page: Page) => page.getByRole('button', { name: 'Order', exact: true });
const placed = (page: Page) => expect(page.getByRole('status')).toHaveAttribute('data-state', 'hasSucceeded');

test.beforeEach(async ({ page }) => {
  await page.goto('/lines', { waitUntil: 'networkidle' });
  await page.getByRole('button', { name: 'Add a line' }).click();
  await page.getByLabel('Express').check();
});

test('rows of react-hook-form: a double submit orders them once', async ({ page }) => {
  await page.getByLabel('Quantity').nth(1).fill('3');
  await expectExactlyOne(intents, async () => {
    await doubleSubmit(send(page));
    await placed(page);
  });
});

test('rows of react-hook-form: a refused number is said at its row, and is sent when it is mended', async ({ page }) => {
  await page.getByLabel('Quantity').nth(1).fill('0');
  await send(page).click();
  await expect(page.getByRole('paragraph').nth(1)).toContainText('>=1');
  await expectExactlyOne(intents, async () => {
    await page.getByLabel('Quantity').nth(1).fill('3');
    await send(page).click();
    await placed(page);
  });
});
`,
};
