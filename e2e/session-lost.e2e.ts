import type { BrowserContext, Page } from '@playwright/test';
import { MANY, TO_CHECKOUT, untilOrdered } from './fixtures/checkout-plays.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expectGoodPage } from './fixtures/page-checks.ts';
import type { Network } from './fixtures/proxy-control.ts';
import { ADA, type Shop } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

/** The session ends while a form is open: the cookie expires, or somebody deletes it. The person must not buy again. */

const NONE = { orders: 0, stockTaken: 0, keys: 0 };
const ONE = { orders: 1, stockTaken: 1, keys: 1 };

interface Parts {
  page: Page;
  context: BrowserContext;
  shop: Shop;
  network: Network;
}

async function enterAlice(page: Page): Promise<void> {
  await page.getByLabel('Account').fill('alice');
  await page.getByLabel('Token').fill('demo-alice');
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => !url.search.includes('next='));
}

async function signIn(page: Page): Promise<void> {
  await page.goto('/sign-in?next=/');
  await enterAlice(page);
}

/** The person follows the one thing to do, signs in, and comes back to the form. */
async function signInAgain(page: Page, context: BrowserContext): Promise<void> {
  const opened = context.waitForEvent('page');
  await page.getByRole('link', { name: 'Sign in again' }).click();
  const other = await opened;
  await enterAlice(other);
  await expect(other.getByRole('heading', { name: 'You are signed in' })).toBeVisible();
  await other.close();
  await page.bringToFront();
}

/** The order is placed, its answer lost, and then the session. The network is back. */
async function loseAnswerAndSession({ page, context, shop, network }: Parts): Promise<void> {
  await shop.checkout();
  await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  await context.clearCookies();
  // An attempt that left with the cookie is lost as well: another one has come behind it, or the page has found out.
  const sent = await shop.posts();
  await expect(async () => {
    if (!(await notice(page).isVisible())) expect(await shop.posts()).toBeGreaterThan(sent + 1);
  }).toPass();
  await network.heal();
}

/** The words in the place of the button. */
const notice = (page: Page) => page.getByRole('main').getByRole('alert');

async function expectEntered(page: Page): Promise<void> {
  for (const [label, value] of Object.entries(ADA)) {
    await expect(page.getByLabel(label, { exact: true })).toHaveValue(value);
  }
}

test('lost before the first submit, by an account: what was entered is kept, and ordered once signed in again', {
  tag: '@all',
}, async ({ page, context, shop, db }) => {
  await signIn(page);
  await shop.checkout();
  await context.clearCookies();
  await shop.placeOrder.click();
  await expect(notice(page)).toContainText('You are no longer signed in as alice');
  await expect(notice(page)).toContainText('Nothing was ordered');
  await expect(shop.placeOrder).toBeHidden();
  await expectEntered(page);
  expectCounted(await shop.gained()).toEqual(NONE);
  await signInAgain(page, context);
  await expectEntered(page);
  await shop.placeOrder.click();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
  expect(await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } })).toMatchObject({ principal: 'alice' });
});

test('lost before the first submit, by a guest: one click carries on, with what was entered', async ({
  page,
  context,
  shop,
}) => {
  await shop.checkout();
  await context.clearCookies();
  await shop.placeOrder.click();
  await expect(notice(page)).toContainText('Nothing was ordered');
  await expect(notice(page)).toBeFocused();
  await expectEntered(page);
  expectCounted(await shop.gained()).toEqual(NONE);
  await page.getByRole('button', { name: 'Carry on' }).click();
  await expect(shop.placeOrder).toBeVisible();
  await expectEntered(page);
  await shop.placeOrder.click();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('lost between the lost answer and the retry: the form says so, and leads to the order once signed in again', async ({
  page,
  context,
  shop,
  network,
}) => {
  await signIn(page);
  await loseAnswerAndSession({ page, context, shop, network });
  await expect(notice(page)).toContainText('Your order may have been placed');
  await expect(page.getByText('Your cart is empty')).toBeHidden();
  await expect(shop.placeOrder).toBeHidden();
  await signInAgain(page, context);
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('lost between the lost answer and a reload: the page says so, and finds the order once signed in again', {
  tag: '@all',
}, async ({ page, context, shop, network }) => {
  await signIn(page);
  await loseAnswerAndSession({ page, context, shop, network });
  await page.reload();
  await expect(notice(page)).toContainText('Your order may have been placed');
  await expect(page.getByText('Your cart is empty')).toBeHidden();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await enterAlice(page);
  await expect(page.getByText('This order is already placed')).toBeVisible();
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('lost by a guest after the order was sent: nothing invites to order again', { tag: '@all' }, async ({
  page,
  context,
  shop,
  network,
}) => {
  await loseAnswerAndSession({ page, context, shop, network });
  await expect(notice(page)).toContainText('a receipt comes to the e-mail address you entered');
  await expect(page.getByRole('button', { name: 'Carry on' })).toBeHidden();
  await expect(shop.placeOrder).toBeHidden();
  // Nor does the empty cart of the new session.
  await page.getByRole('link', { name: 'Cart', exact: true }).click();
  await expect(page.getByText('Your cart is empty')).toBeVisible();
  await expectGoodPage(page, 'an empty cart behind an order in doubt');
  await page.getByRole('link', { name: 'Show this order' }).click();
  await expect(notice(page)).toContainText('Your order may have been placed');
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a cart of another session, which was never sent from here, says whose it may be', { tag: '@all' }, async ({
  page,
  context,
  shop,
}) => {
  await shop.buy();
  await context.clearCookies();
  await page.reload();
  await expect(page.getByRole('main')).toContainText('This cart belongs to another visit');
  await expect(page.getByRole('link', { name: 'Sign in' }).last()).toBeVisible();
  expectCounted(await shop.gained()).toEqual(NONE);
});
