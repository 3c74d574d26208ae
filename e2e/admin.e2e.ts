import { signIn } from './fixtures/admin.ts';
import { axeFinds } from './fixtures/page-checks.ts';
import { expect, test } from './fixtures/test.ts';

test('a wrong password opens nothing, says so, and is recorded', async ({ page, db }) => {
  await page.goto('/admin/keys');
  await expect(page).toHaveURL(/\/admin\/sign-in\?next=%2Fadmin%2Fkeys$/);
  await signIn(page, 'a wrong password');
  await expect(page.getByRole('main').getByRole('alert')).toContainText('not the admin password');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await axeFinds(page), colorScheme).toEqual([]);
  }
  await page.goto('/admin/keys');
  await expect(page).toHaveURL(/\/admin\/sign-in/);
  const failed = { type: 'sign_in_failed', actor: 'somebody' };
  expect(await db.idempotencyAudit.count({ where: failed })).toBe(1);
  expect(JSON.stringify(await db.idempotencyAudit.findMany({ where: failed, select: { detail: true } }))).not.toContain(
    'a wrong password',
  );
  await signIn(page);
  expect(await db.idempotencyAudit.count({ where: { type: 'signed_in', actor: 'admin' } })).toBeGreaterThan(0);
});

test('an order is found by its key, with the answer redacted and the order linked', async ({
  page,
  context,
  shop,
  db,
}) => {
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
  // By what a person has in hand at night: the order, the customer's address, the key.
  const search = page.getByRole('searchbox', { name: 'Search' });
  await search.fill(order.slice(-20));
  await search.press('Enter');
  await expect(page.getByRole('link', { name: row.key })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Found', exact: true })).toBeVisible();
  await search.fill(row.key.slice(0, 24));
  await page.getByLabel('State').selectOption('succeeded');
  await page.getByRole('button', { name: 'Filter' }).click();
  // What is looked for stands in the address, to be kept and passed on.
  await expect(page).toHaveURL(new RegExp(`state=succeeded.*q=${row.key.slice(0, 24)}`));
  await page.getByRole('link', { name: row.key }).click();

  const main = page.getByRole('main');
  await expect(main).toContainText(`Once for${row.thing}`);
  for (const of of [`thing=${row.thing}`, `principal=${row.principal}`])
    await expect(main.locator(`a[href*="${of}"]`).first()).toBeVisible();
  await expect(main).toContainText(row.principal);
  await expect(main).toContainText(
    Buffer.from(row.fingerprint ?? [])
      .toString('hex')
      .slice(0, 8),
  );
  await expect(main.locator(`a[href*="${order.split('/').pop()}"]`).first()).toBeVisible();
  // The answer's shape is shown, what it holds is not.
  const answer = page.getByRole('region', { name: 'Stored answer' });
  await expect(answer).toContainText('"amountCents": "number"');
  await expect(answer).not.toContainText('1800');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await main.getByRole('button', { name: 'Copy the key' }).click();
  await expect(main.getByText('Copied', { exact: true })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(row.key);

  // The bar of the call that has made the key leads to it. Calls are counted some seconds later: not waited for.
  await db.$executeRaw`
    INSERT INTO idempotency_tallies (bucket, operation, outcome, count)
    VALUES (date_bin('10 min', ${row.claimedAt}, '2026-01-01Z'), 'checkout', 'created', 50)
    ON CONFLICT (bucket, operation, outcome) DO UPDATE SET count = 50`;
  await page.goto('/admin/keys?operation=checkout');
  await page.locator('svg a').filter({ hasText: 'succeeded' }).last().click();
  await expect(page).toHaveURL(/state=succeeded&operation=checkout&from=/);
  await expect(page.getByRole('link', { name: row.key })).toBeVisible();
  await expect(page.getByRole('main')).toContainText(/Only keys claimed from .+ to .+ UTC/);
});

test('the overview says what the database promises, readably on a phone in both colour schemes', {
  tag: '@all',
}, async ({ page }) => {
  await page.goto('/admin/keys');
  await signIn(page);
  const panel = page.getByRole('region', { name: 'What the database promises' });
  await expect(panel).toContainText(/PostgreSQL \d+/);
  await expect(panel.getByRole('listitem').first()).toBeVisible();
  await page.setViewportSize({ width: 390, height: 900 });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await axeFinds(page), colorScheme).toEqual([]);
  }
});

test('a filter that matches nothing says so, and the order of the list stands in the address', { tag: '@all' }, async ({
  page,
  db,
}) => {
  await signIn(page);
  await page.goto('/admin/keys?state=abandoned&q=no-such-key');
  await expect(page.getByText('No keys here')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Nothing found' })).toBeVisible();
  await db.$executeRaw`INSERT INTO idempotency_keys
      (tenant, principal, operation, key, state, result, claimed_at, settled_at, expires_at)
    SELECT 'demo', 'many', 'lab.order', 'many-' || n, 'succeeded', '{}', now() - n * interval '1 min', now(), now() + n * interval '1 h'
      FROM generate_series(10, 39) n`;
  await page.goto('/admin/keys?q=many&sort=oldest');
  const rows = page
    .getByRole('table', { name: 'Keys' })
    .or(page.getByRole('region', { name: 'Keys' }))
    .locator('tbody tr');
  await expect(rows).toHaveCount(25);
  await expect(rows.first()).toContainText('many-39');
  await page.getByRole('link', { name: 'Next' }).click();
  await expect(rows).toHaveCount(5);
  await page.getByLabel('Order').selectOption('expires');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect(page).toHaveURL(/q=many.*sort=expires/);
  await expect(rows.first()).toContainText('many-10');
});

test('on a phone, too: what waits for somebody comes first, a row reads without scrolling, and a key ends as it ends', {
  tag: '@all',
}, async ({ page, db }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/admin/sign-in');
  await expect(page.getByRole('link', { name: 'Sign in' }), 'one sign-in, not two').toHaveCount(0);
  await signIn(page);
  const key = `0193aaaa-bbbb-7ccc-8ddd-${Date.now()}.the-very-end-of-this-key`;
  const who = { tenant: 'demo', principal: 'a-principal-with-a-rather-long-name-indeed', operation: 'checkout', key };
  const at = { claimedAt: new Date(Date.now() - 600_000), expiresAt: new Date(Date.now() + 600_000) };
  await db.idempotencyKey.create({ data: { ...who, ...at, state: 'unknown', needsAttention: true } });
  await page.goto('/admin/keys');
  const tables = page.getByRole('main').getByRole('table');
  const waiting = page.getByRole('region', { name: 'Stuck' }).last();
  await expect(tables.first()).toContainText(key);
  expect(await axeFinds(page)).toEqual([]);
  await expect(waiting.getByRole('row').last().getByRole('cell')).toHaveCount(4); // state, operation, key, claim
  const headings = await page.getByRole('main').getByRole('heading').allTextContents();
  expect(headings.indexOf('Stuck')).toBeLessThan(headings.indexOf('Storage'));
  expect(headings.indexOf('All keys')).toBeLessThan(headings.findIndex((text) => text.startsWith('Calls in')));
  expect(await tables.first().evaluate((table) => table.scrollWidth <= (table.parentElement?.clientWidth ?? 0))).toBe(
    true,
  );
  // The end of the key is what is seen: the text is wider than its room, and is cut where it begins.
  const [isCut, endsInside] = await waiting
    .getByRole('link', { name: key })
    .locator('bdi')
    .evaluate((text) => {
      const [all, room] = [text.getBoundingClientRect(), (text.parentElement as Element).getBoundingClientRect()];
      return [all.left < room.left, all.right <= room.right + 1];
    });
  expect([isCut, endsInside]).toEqual([true, true]);
  await db.idempotencyKey.deleteMany({ where: { key } });
});
