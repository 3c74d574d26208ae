import { signIn } from './fixtures/admin.ts';
import { expect, test } from './fixtures/test.ts';

test('nothing of the admin view is open', async ({ page, request }) => {
  for (const path of ['/admin', '/admin/keys', '/admin/keys/detail?key=x', '/admin/keys?state=failed']) {
    const answer = await request.get(path, { maxRedirects: 0 });
    expect(answer.status(), path).toBe(307);
    expect(answer.headers().location, path).toContain('/admin');
    expect(await answer.text(), path).not.toContain('idempotency');
  }
  await page.goto('/admin/keys');
  await expect(page).toHaveURL(/\/admin\/sign-in$/);
  await signIn(page, 'a wrong password');
  await expect(page.getByRole('main').getByRole('alert')).toContainText('not the admin password');
  await page.goto('/admin/keys');
  await expect(page).toHaveURL(/\/admin\/sign-in$/);
});

test('an order is found by its key, with the answer redacted and the order linked', async ({ page, shop, db }) => {
  await shop.checkout();
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  const order = new URL(page.url()).pathname;
  const row = await db.idempotencyKey.findFirstOrThrow({
    where: { operation: 'checkout' },
    orderBy: { claimedAt: 'desc' },
  });

  await signIn(page);
  await expect(page).toHaveURL(/\/admin\/keys$/);
  await page.getByLabel('Key or principal begins with').fill(row.key.slice(0, 24));
  await page.getByLabel('State').selectOption('succeeded');
  await page.getByRole('button', { name: 'Filter' }).click();
  // What is looked for stands in the address, to be kept and passed on.
  await expect(page).toHaveURL(new RegExp(`state=succeeded.*q=${row.key.slice(0, 24)}`));
  await page.getByRole('link', { name: row.key }).click();

  const main = page.getByRole('main');
  await expect(main).toContainText(row.principal);
  await expect(main).toContainText(
    Buffer.from(row.fingerprint ?? [])
      .toString('hex')
      .slice(0, 8),
  );
  await expect(main.locator(`a[href*="${order.split('/').pop()}"]`).first()).toBeVisible();
  // The answer's shape is shown, what it holds is not.
  await expect(main).toContainText('amountCents');
  await expect(main).not.toContainText('1800');
});

test('a filter that matches nothing says so', async ({ page }) => {
  await signIn(page);
  await page.goto('/admin/keys?state=abandoned&q=no-such-key');
  await expect(page.getByText('No keys here')).toBeVisible();
});
