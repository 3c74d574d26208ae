import type { APIRequestContext, Page } from '@playwright/test';
import { tier } from '../scripts/testing/tier.ts';
import { policyBreaches, signIn as signInAsAdmin } from './fixtures/admin.ts';
import { actionsUnder, addressesOf, type BuiltAction, exportsOfActions } from './fixtures/admin-surface.ts';
import { SECRETS } from './fixtures/app-process.ts';
import { expect, test } from './fixtures/test.ts';

/** Fields that every admin form might send: enough that an action which is let in does something. */
const KEY = { tenant: 'demo', principal: 'victim', operation: 'lab.order', key: 'access-key' };
const FIELDS = {
  ...{ ...KEY, fencing_token: '1', revision: '[]', kind: 'failed' },
  ...{ destination: 'crm', event: 'e1', settled_at: new Date(0).toISOString(), source: 'bank' },
};

/** Open by intent: each says no by itself, in its own words, and has its own tests. */
const DOORS = ['signIn', 'signOut'];

test.beforeAll(async ({ world: { db } }) => {
  const data = { ...KEY, state: 'succeeded', result: '{"v":1}', expiresAt: new Date(Date.now() + 86_400_000) };
  await db.idempotencyKey.create({ data: { ...data, settledAt: new Date() } });
  await db.inboxEvent.create({
    data: { source: 'bank', eventId: 'e1', state: 'dead', payloadHash: new Uint8Array(32) },
  });
});

test('no page of the build runs or shows anything that its policy refuses, and none allows inline scripts', async ({
  page,
}) => {
  const breaches = policyBreaches(page);
  const nonces: (string | undefined)[] = [];
  const addresses = [...(await addressesOf('page')), '/nowhere'];
  const ofEachPart = new Map(addresses.map((address) => [address.split('/')[1], address]));
  for (const address of tier === 'short' ? ofEachPart.values() : addresses) {
    const answer = await page.goto(address.replaceAll(/\[\w+\]/g, 'x'));
    const policy = answer?.headers()['content-security-policy'] ?? '';
    expect.soft(policy, address).toMatch(/script-src 'nonce-[\w+/=]+' 'strict-dynamic';/);
    expect.soft(policy, address).not.toMatch(/unsafe/);
    nonces.push(/'nonce-([^']+)'/.exec(policy)?.[1]);
    // React marks the document when it takes a page over: scripts that were refused never do.
    await page.waitForFunction(() => Object.keys(document).some((key) => key.startsWith('__react')));
  }
  expect(new Set(nonces).size, 'each answer has a nonce of its own').toBe(nonces.length);
  // The policy means what it says.
  await page.evaluate(() => {
    document.body.setAttribute('onclick', 'globalThis.hasRun = true');
    document.body.click();
  });
  await expect.poll(() => breaches.length).toBe(1);
  expect(breaches[0]).toContain('inline event handler');
  expect(await page.evaluate(() => 'hasRun' in globalThis)).toBe(false);
});

test('X2 every admin page refuses a stranger and a shopper, and leads to the sign-in and back', async ({
  page,
  request,
}) => {
  const pages = (await addressesOf('page')).filter((address) => /^\/admin\/(?!sign-in)/.test(address));
  expect(pages).toContain('/admin/keys');
  await asShopper(page);
  for (const [who, asked] of Object.entries({ stranger: request, shopper: page.request })) {
    for (const address of pages) {
      for (const headers of [{}, { RSC: '1' }] as Record<string, string>[]) {
        const ask = (path: string) => asked.get(path, { maxRedirects: 0, headers });
        let answer = await ask(`${address}?a=b`);
        // Next names such a request by its headers first, against caches.
        if ('RSC' in headers) answer = await ask(answer.headers().location ?? `${address}?a=b`);
        const text = await answer.text();
        // The stream with which one page becomes another says in itself where to go.
        const location = answer.headers().location ?? /NEXT_REDIRECT;\w+;([^;]+);/.exec(text)?.[1];
        const { pathname, searchParams } = new URL(location ?? '', 'http://any');
        const next = searchParams.get('next')?.split('&')[0];
        expect([pathname, next], `${who} at ${address}: ${answer.status()} ${text.slice(0, 400)}`).toEqual([
          '/admin/sign-in',
          `${address}?a=b`,
        ]);
        expect(text, address).not.toMatch(/idempotency|succeeded|Attempts|Principal/);
      }
    }
  }
});

test('X2 every route for machines refuses without its secret, a shopper and an admin too', async ({
  page,
  request,
}) => {
  const routes = (await addressesOf('route')).filter((address) => /^\/api\/(cron|metrics)/.test(address));
  expect(routes.length).toBeGreaterThan(0);
  await asShopper(page);
  await asAdmin(page);
  for (const asked of [request, page.request]) {
    for (const address of routes) {
      for (const method of ['GET', 'POST']) {
        const answer = await asked.fetch(address.replaceAll(/\[\w+\]/g, 'reap'), {
          method,
          headers: { authorization: 'Bearer x' },
        });
        expect([401, 405], `${method} ${address}: ${answer.status()}`).toContain(answer.status());
      }
    }
  }
});

test('X2 every admin action refuses a stranger, a shopper, and a form of another site; nothing is done', async ({
  page,
  playwright,
  request,
  baseURL,
  db,
}) => {
  const actions = await actionsUnder('app/admin');
  // One that the build had left out of its list would not be tested.
  expect(actions.map(({ name }) => name).sort()).toEqual((await exportsOfActions('app/admin')).sort());
  await asShopper(page);
  const admin = await playwright.request.newContext({ baseURL: baseURL ?? '' });
  const adminPage = await page
    .context()
    .browser()
    ?.newPage({ baseURL: baseURL ?? '' });
  if (!adminPage) throw new Error('There is no browser.');
  await signInAsAdmin(adminPage);
  const cookie = (await adminPage.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  for (const action of actions.filter(({ name }) => !DOORS.includes(name))) {
    for (const [who, asked] of Object.entries({ stranger: request, shopper: page.request })) {
      const answer = await send(asked, action, { origin: baseURL ?? '' });
      expect(answer.status(), `${who}: ${action.name}`).toBe(303);
      expect(answer.headers().location, `${who}: ${action.name}`).toMatch(/^\/admin\/sign-in\?next=/);
    }
    for (const origin of ['http://evil.example', 'null']) {
      const forged = await send(admin, action, { origin, cookie });
      expect(forged.status(), `${action.name} from ${origin}`).toBeGreaterThanOrEqual(400);
    }
  }
  const acts = { actor: 'admin', type: { notIn: ['signed_in', 'signed_out'] } };
  expect(await db.idempotencyAudit.count({ where: acts })).toBe(0);
  expect(await db.messageEvent.count({ where: { actor: 'admin' } })).toBe(0);
  expect(await db.idempotencyKey.findFirst({ where: KEY })).toMatchObject({ state: 'succeeded', result: '{"v":1}' });
  // The same body with the admin's cookie and from this site does something: what was refused above was not nothing.
  const forget = actions.find(({ name }) => name === 'forgetKey') as BuiltAction;
  const done = await send(admin, forget, { origin: baseURL ?? '', cookie });
  expect(done.headers().location).toContain('notice=forgotten');
  await admin.dispose();
  await adminPage.close();
});

test('a session that was signed out of stays over, also for whoever has copied its cookie', async ({ page }) => {
  await asAdmin(page);
  const copied = await page.context().cookies();
  expect(copied.find(({ name }) => name === 'oncekit_admin')).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
  await page.goto('/admin/keys');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/admin/sign-in');
  await page.context().addCookies(copied);
  await page.goto('/admin/keys?state=failed');
  await expect(page).toHaveURL(/\/admin\/sign-in\?next=/);
  // Signing in leads back, and never to another site.
  await page.getByLabel('Password').fill(SECRETS.ADMIN_PASSWORD);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(/\/admin\/keys\?state=failed$/);
  for (const next of ['//evil.example', 'https://evil.example/admin/keys', '/admin/../lab', '/admin/sign-in?next=/']) {
    await page.goto(`/admin/sign-in?${new URLSearchParams({ next })}`);
    await expect(page, next).toHaveURL(/\/admin\/keys$/);
  }
});

test('what came by https comes by https again, and its cookies go no other way', async ({ request }) => {
  const plain = await request.get('/admin/sign-in');
  expect(plain.headers()['strict-transport-security']).toBeUndefined();
  for (const path of ['/admin/sign-in', '/api/health']) {
    const answer = await request.get(path, { headers: { 'x-forwarded-proto': 'https' } });
    expect(answer.headers()['strict-transport-security'], path).toMatch(/^max-age=\d{8}/);
    expect(answer.headers()['content-security-policy'], path).toMatch(/frame-ancestors 'none'/);
  }
});

/** As a browser without JavaScript sends a form. */
function send(asked: APIRequestContext, { id, page }: BuiltAction, headers: Record<string, string>) {
  const multipart = { [`$ACTION_ID_${id}`]: '', ...FIELDS };
  return asked.post(page, { multipart, headers, maxRedirects: 0 });
}

async function asShopper(page: Page): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Account').fill('alice');
  await page.getByLabel('Token').fill('demo-alice');
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname === '/');
}

function asAdmin(page: Page): Promise<void> {
  return signInAsAdmin(page);
}
