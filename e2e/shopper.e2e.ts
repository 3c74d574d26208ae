import { MANY, TO_CHECKOUT, untilOrdered } from './fixtures/checkout-plays.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, hydrated, test } from './fixtures/test.ts';

/** The pages as a person sees them who only wants to buy a mug. */

const ONE = { orders: 1, stockTaken: 1, keys: 1 };

test('back after an order looks like opening the address anew: already placed, a link, nothing to fill in', async ({
  page,
  shop,
}) => {
  await shop.checkout();
  const address = page.url();
  await shop.placeOrder.click();
  await untilOrdered(page);
  const seen: string[] = [];
  for (const open of [() => page.goBack(), () => page.goto(address)]) {
    await open();
    await expect(page.getByText('This order is already placed')).toBeVisible();
    await expect(page.getByRole('main').getByRole('textbox')).toHaveCount(0);
    await expect(page.getByRole('main').getByRole('button')).toHaveCount(0);
    seen.push(await page.getByRole('main').innerText());
  }
  expect(seen[0]).toBe(seen[1]);
  await page.getByRole('link', { name: 'View the order' }).click();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
});

test('a refused form: the first wrong field has the focus, and a summary leads to each', async ({ page, shop }) => {
  await shop.buy();
  await hydrated(page);
  await page.getByLabel('Name').fill(ADA.Name);
  await page.getByLabel('City').fill(ADA.City);
  await shop.placeOrder.click();
  await expect(page.getByLabel('Email')).toBeFocused();
  await expect(page.getByLabel('Email')).toHaveAccessibleDescription(/Enter an e-mail address/);
  await expect(shop.status).toBeInViewport();
  const summary = page.getByRole('list', { name: 'What needs your attention' });
  await expect(summary.getByRole('link')).toHaveCount(4);
  await summary.getByRole('link', { name: 'Enter the country.' }).click();
  await expect(page.getByLabel('Country')).toBeFocused();
});

test('reload after a lost request says what was and was not done, and does not offer to send what is gone', async ({
  page,
  shop,
  network,
}) => {
  await shop.checkout();
  await network.break({ match: TO_CHECKOUT, kind: 'lose-request', times: MANY });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  await page.reload();
  await expect(shop.status).toContainText('Your order has not reached us so far');
  await expect(shop.status).toContainText('Enter your details again');
  await expect(shop.status).not.toContainText(/send|sending/i);
  await network.heal();
  await shop.fillAddress();
  await shop.placeOrder.click();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toMatchObject({ orders: 1, stockTaken: 1 });
});

test('the button itself says that it is at work, and retrying looks like progress', { tag: '@all' }, async ({
  page,
  shop,
  network,
}) => {
  await shop.checkout();
  await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
  await shop.placeOrder.click();
  await expect(page.getByRole('button', { name: 'Placing your order…' })).toHaveAttribute('aria-busy', 'true');
  await expect(shop.status).toHaveAttribute('data-state', 'unknown');
  const [waiting, warning] = await shop.status.evaluate((words) => {
    const probe = document.createElement('p');
    probe.style.color = 'var(--warn)';
    words.after(probe);
    const colours = [getComputedStyle(words).color, getComputedStyle(probe).color];
    probe.remove();
    return colours;
  });
  expect(waiting).not.toBe(warning);
  await expect(page.getByRole('button', { name: 'Check again' })).toBeHidden();
  await network.heal();
  await untilOrdered(page);
  expectCounted(await shop.gained()).toEqual(ONE);
});
