import type { APIRequestContext, Cookie, Page } from '@playwright/test';
import { LONDON } from './fixtures/api-client.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

const cookieHeader = (cookies: Cookie[]) => cookies.map(({ name, value }) => `${name}=${value}`).join('; ');

/** The reach of these cookies to an order: as machines ask, and as browsers do. */
async function powerOver(order: string, cookies: Cookie[], request: APIRequestContext) {
  const headers = { cookie: cookieHeader(cookies) };
  const at = `/api/orders/${order}`;
  const seen = await request.get(at, { headers });
  const { etag = '"none"' } = seen.headers();
  const page = await request.get(`/orders/${order}`, { headers });
  const address = await request.put(`${at}/address`, { headers: { ...headers, 'If-Match': etag }, data: LONDON });
  const refund = await request.post(`${at}/refunds`, {
    headers: { ...headers, 'Idempotency-Key': `"${crypto.randomUUID()}"` },
    data: { amount_cents: 100 },
  });
  return { sees: seen.status(), opens: page.status(), addresses: address.status(), refunds: refund.status() };
}

const ALL = { sees: 200, opens: 200, addresses: 200, refunds: 201 };
const NOTHING = { sees: 401, opens: 404, addresses: 401, refunds: 401 };
/** Of somebody else: the order is as absent as none. */
const ABSENT = { sees: 404, opens: 404, addresses: 404, refunds: 404 };

async function signIn(page: Page): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Account').fill('alice');
  await page.getByLabel('Token').fill('demo-alice');
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname === '/');
}

async function placed(page: Page): Promise<string> {
  await page.waitForURL('**/orders/*');
  await expect(page.getByText('Ada Lovelace')).toBeVisible();
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

test('a cookie from before the sign-in has power over nothing: not over what was bought before, nor after', async ({
  page,
  context,
  request,
  shop,
  db,
}) => {
  await shop.checkout();
  await shop.placeOrder.click();
  const early = await placed(page);
  const before = await context.cookies();
  expect(await powerOver(early, before, request)).toEqual(ALL);

  await signIn(page);
  await shop.checkout();
  await shop.placeOrder.click();
  const late = await placed(page);
  const after = await context.cookies();

  const refunded = await db.refund.count();
  for (const order of [early, late]) expect(await powerOver(order, before, request), order).toEqual(NOTHING);
  expectCounted(await db.refund.count()).toBe(refunded);
  for (const order of [early, late]) expect(await powerOver(order, after, request), order).toEqual(ALL);

  // Nor does it learn anything by a key, and it is given another session by the next page.
  const { key } = await db.idempotencyKey.findFirstOrThrow({ where: { operation: 'checkout', principal: 'alice' } });
  const headers = { cookie: cookieHeader(before) };
  const asked = await request.get(`/api/idempotency/checkout/${encodeURIComponent(key)}`, { headers });
  expect(asked.status()).toBe(401);
  const shown = await request.get('/', { headers });
  expect(shown.headers()['set-cookie']).toMatch(/^oncekit_session=/);
});

test('a look at a page that began before the sign-in and ends after it does not undo it', { tag: '@all' }, async ({
  page,
  context,
  network,
}) => {
  await page.goto('/mailbox');
  await network.heal();
  // The page looks for mail again and again: one such look is still on its way to the shop, for longer than
  // a sign-in takes on a slow machine.
  await network.break({ match: { method: 'GET', path: '/mailbox' }, kind: 'delay', ms: 10_000, times: 1 });
  const delayed = async () => (await network.log()).find(({ fault }) => fault === 'delay');
  await expect.poll(delayed).toBeDefined();
  const other = await context.newPage();
  await signIn(other);
  expect((await delayed())?.atAppAt, 'not there yet').toBeNull();
  await expect.poll(async () => (await delayed())?.outcome).toBe('answered');
  await other.goto('/mailbox');
  await expect(other.getByRole('banner')).toContainText('alice');
});

test('an order whose request was lost before the sign-in is placed once by its retry, and is the account’s', async ({
  page,
  context,
  request,
  shop,
  network,
  db,
}) => {
  await shop.checkout();
  const before = await context.cookies();
  await network.break({ match: { method: 'POST', path: '/checkout' }, kind: 'lose-request', times: 50 });
  await shop.placeOrder.click();
  await expect(shop.status).toHaveAttribute('data-state', /unknown|retrying/);
  await signIn(await context.newPage());
  await network.heal();
  const order = await placed(page);
  expectCounted(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 1 });
  // It ran under the old name, whose forms are taken for a while, and belongs to who has signed in.
  expect((await db.order.findUniqueOrThrow({ where: { id: order } })).principal).not.toBe('alice');
  expect(await powerOver(order, before, request)).toEqual(NOTHING);
  expect(await powerOver(order, await context.cookies(), request)).toEqual(ALL);
});

test('a session that was signed out of stays over, also for whoever has copied its cookie', async ({
  page,
  context,
  request,
  shop,
}) => {
  await signIn(page);
  await shop.checkout();
  await shop.placeOrder.click();
  const order = await placed(page);
  const copied = await context.cookies();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('link', { name: 'Sign in' })).toBeVisible();
  expect(await powerOver(order, copied, request)).toEqual(NOTHING);
  expect(await powerOver(order, await context.cookies(), request)).toEqual(ABSENT);
  await context.addCookies(copied);
  await page.goto('/mailbox');
  await expect(page.getByText('No mail yet')).toBeVisible();
});

test('over https the cookies can be set by this host alone, and no others are read', async ({ request }) => {
  const https = { 'x-forwarded-proto': 'https' };
  const first = await request.get('/', { headers: https });
  const set = first.headers()['set-cookie'] ?? '';
  expect(set).toMatch(/^__Host-oncekit_session=[^;]+;/);
  for (const attribute of [/; Path=\/(;|$)/, /; Secure/, /; HttpOnly/i, /; SameSite=lax/i])
    expect(set).toMatch(attribute);
  expect(set).not.toMatch(/domain/i);
  const [, value] = /=([^;]+)/.exec(set) ?? [];
  const ask = (name: string) => request.get('/', { headers: { ...https, cookie: `${name}=${value}` } });
  expect((await ask('__Host-oncekit_session')).headers()['set-cookie']).toBeUndefined();
  expect((await ask('oncekit_session')).headers()['set-cookie']).toMatch(/^__Host-oncekit_session=/);
});
