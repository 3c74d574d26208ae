import { randomUUID } from 'node:crypto';
import type { Page } from '@playwright/test';
import { enter, policyBreaches } from './fixtures/admin.ts';
import { type AdminApp, expect, sendTwice, test } from './fixtures/admin-app.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { axeFinds } from './fixtures/page-checks.ts';
import { ADA } from './fixtures/shop.ts';

/** A checkout that is not finished: `left` says how it comes to that. Then its customer goes away. */
async function unfinished(page: Page, { db }: AdminApp, left: () => Promise<unknown>) {
  await page.goto('/');
  await page.getByRole('button', { name: 'Buy Enamel mug' }).click();
  await page.waitForURL('**/checkout?cart=*');
  for (const [label, value] of Object.entries(ADA)) await page.getByLabel(label, { exact: true }).fill(value);
  await left();
  const count = await db.idempotencyKey.count();
  await page.getByRole('button', { name: 'Place order', exact: true }).click();
  await expect.poll(() => db.idempotencyKey.count()).toBe(count + 1);
  return await db.idempotencyKey.findFirstOrThrow({ orderBy: { claimedAt: 'desc' } });
}

/** A key that has run. */
function settledKey(db: AdminApp['db'], principal: string) {
  const id = { tenant: 'demo', principal, operation: 'lab.order', key: randomUUID() };
  const [settledAt, expiresAt] = [new Date(), new Date(Date.now() + 86_400_000)];
  return db.idempotencyKey.create({ data: { ...id, state: 'succeeded', result: '{"v":1}', settledAt, expiresAt } });
}

const auditOf = (db: AdminApp['db'], key: string) =>
  db.idempotencyAudit.findMany({ where: { key, actor: 'admin' }, orderBy: { id: 'asc' } });
const orderOf = (db: AdminApp['db'], idempotencyKey: string) =>
  db.order.findFirstOrThrow({ where: { idempotencyKey } });

test('no worker runs and the process was killed mid-charge: found and driven to the truth in three clicks', {
  tag: '@all',
}, async ({ page, context, adminApp }) => {
  const { app, db, gateway } = adminApp;
  const desk = await context.newPage();
  const breaches = policyBreaches(desk);
  await enter(desk, app);
  await desk.goto('/admin/keys');
  await expect(desk.locator('[data-count=stuck]')).toHaveText('0');
  // A refresh that is under way when the app is killed leaves the page, for the browser's own error.
  await desk.getByRole('button', { name: 'Pause updates' }).click();
  const { key } = await unfinished(page, adminApp, () => app.crashAt('after-answer'));
  await page.close();
  await expect.poll(() => app.lines.some((line) => line.includes('was killed by SIGKILL'))).toBe(true);
  await app.untilHealthy();
  const order = await orderOf(db, key);
  expect(order.status).toBe('paying');
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
  // The page that is open shows it by itself, once the lease is over.
  await desk.bringToFront();
  await desk.getByRole('button', { name: 'Resume updates' }).click();
  await expect(desk.locator('[data-count=stuck]')).toHaveText('1');

  await desk.getByRole('list', { name: 'Counts' }).getByRole('link', { name: 'stuck' }).click();
  await desk.waitForURL('**stuck=1**');
  await desk.getByRole('row').getByRole('link', { name: key }).click();
  await expect(desk.getByRole('timer')).toContainText('over for');
  await expect(desk.getByRole('main')).toContainText('charge_created: sent to the provider');
  await desk.getByRole('button', { name: 'Retry now' }).click();
  await expect(desk.getByRole('main').getByRole('status')).toContainText('Taken up again');
  await expect(desk.getByRole('main')).toContainText('Settled: succeeded');
  await expect(desk.getByRole('link', { name: /paid, \$18\.00/ })).toBeVisible();
  await expect(desk.getByRole('link', { name: 'order.paid' })).toBeVisible();

  expect(await orderOf(db, key)).toMatchObject({ id: order.id, status: 'paid' });
  expectCounted(await db.order.count({ where: { idempotencyKey: key } })).toBe(1);
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
  expect((await auditOf(db, key)).map(({ type }) => type)).toEqual(['retry']);
  expect(breaches).toEqual([]);
});

test('X3 a live lease is not released; one that is over is, and each operation sent twice is done and recorded once', async ({
  page: desk,
  browser,
  baseURL,
  adminApp,
}) => {
  const { app, db, gateway } = adminApp;
  await enter(desk, app);
  // Without JavaScript: nothing sends the form once more while we look.
  const page = await browser.newPage({ javaScriptEnabled: false, ...(baseURL ? { baseURL } : {}) });
  const down = { path: '/v1/payment_intents', kind: 'down', times: 1000 } as const;
  const { key, tenant, principal, operation } = await unfinished(page, adminApp, () => gateway.break(down));
  await expect.poll(() => db.idempotencyPhase.count({ where: { key, state: 'started' } })).toBe(1);
  // It has tried, and let go.
  await expect.poll(() => db.idempotencyKey.count({ where: { key, leaseUntil: { lte: new Date() } } })).toBe(1);
  await page.close();
  await gateway.heal();
  const order = await orderOf(db, key);
  const where = { tenant_principal_operation_key: { tenant, principal, operation, key } };
  await db.idempotencyKey.update({ where, data: { leaseUntil: new Date(Date.now() + 600_000) } });
  await desk.goto(`/admin/keys/detail?${new URLSearchParams({ tenant, principal, operation, key })}`);
  await expect(desk.getByRole('timer')).toContainText('left');
  const press = async (summary: string, button: string) => {
    await desk.getByText(summary).click();
    return desk.getByRole('button', { name: button, exact: true });
  };
  await (await press('Release the lease…', 'Release it')).click();
  await expect(desk.getByRole('main').getByRole('alert')).toContainText('Not released: its lease is live');
  await expect(desk.getByRole('main').getByRole('alert'), 'it has the focus that its button has lost').toBeFocused();
  expect(await auditOf(db, key)).toEqual([]);
  expectCounted(await gateway.charges(order.id)).toEqual([]);

  await db.idempotencyKey.update({ where, data: { leaseUntil: new Date(Date.now() - 1000) } });
  await desk.reload();
  const released = await sendTwice(desk, await press('Release the lease…', 'Release it'));
  expect(released.map(noticeOf), 'both copies get the same answer').toEqual(['released', 'released']);
  await desk.reload();
  const retried = await sendTwice(desk, desk.getByRole('button', { name: 'Retry now' }));
  expect(retried.map(noticeOf)).toEqual(['retried', 'retried']);
  expect((await auditOf(db, key)).map(({ type }) => type)).toEqual(['released', 'retry']);
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
  expect(await orderOf(db, key)).toMatchObject({ status: 'paid' });

  await desk.reload();
  const forgotten = await sendTwice(desk, await press('Forget what is stored…', 'Forget it'));
  expect(forgotten.map(noticeOf)).toEqual(['forgotten', 'forgotten']);
  expect(await db.idempotencyKey.findUniqueOrThrow({ where })).toMatchObject({ state: 'succeeded', result: null });
  expect((await auditOf(db, key)).map(({ type }) => type)).toEqual(['released', 'retry', 'forgotten']);
  await desk.reload();
  await expect(desk.getByRole('main')).toContainText('It was erased.');
});

test('a settled key whose call was answered too late is listed, and a person says once that they have seen to it', async ({
  page,
  adminApp,
}) => {
  const { app, db } = adminApp;
  await enter(page, app);
  const { key, ...of } = await settledKey(db, randomUUID());
  // A settled key becomes no other one, but past its trigger.
  await db.$transaction([
    db.$executeRaw`SET LOCAL session_replication_role = replica`,
    db.idempotencyKey.updateMany({ where: { key }, data: { state: 'failed', needsAttention: true } }),
  ]);
  const { tenant, principal, operation } = of;
  const call = { name: 'charge_created', position: 1, kind: 'foreign', state: 'started', fencingToken: 1, sends: 1 };
  await db.idempotencyPhase.create({
    data: { tenant, principal, operation, key, ...call, derivedKey: 'derived-of-it' },
  });
  const detail = { step: call.name, token: '1', said: 'result' };
  await db.idempotencyEvent.create({
    data: { tenant, principal, operation, key, type: 'late_answer', actor: 'executor', detail },
  });
  await page.goto('/admin/keys?stuck=1&state=failed');
  await page.getByRole('row').getByRole('link', { name: key }).click();
  await expect(page.getByRole('heading', { name: 'This key has ended, and a person must look' })).toBeVisible();
  await expect(page.getByRole('main')).toContainText(
    'the provider may have done what the customer was told did not happen',
  );
  expect(await axeFinds(page)).toEqual([]);
  await page.reload(); // a form of the first HTML can be sent by hand
  const seen = await sendTwice(page, page.getByRole('button', { name: 'I have seen to it' }));
  expect(seen.map(noticeOf)).toEqual(['acknowledged', 'acknowledged']);
  expect((await auditOf(db, key)).map(({ type }) => type)).toEqual(['acknowledged']);
  await page.reload();
  await expect(page.getByRole('main')).toContainText('A person has seen to it');
  await expect(page.getByRole('button', { name: 'I have seen to it' })).toHaveCount(0);
});

test('S5 a key that was never seen is given up once; one that has run is left alone, and shown', async ({
  page,
  adminApp,
}) => {
  const { app, db } = adminApp;
  await enter(page, app);
  const key = randomUUID();
  await page.goto(`/admin/keys/fence?${new URLSearchParams({ principal: 'carol', key })}`);
  await page.getByLabel('Operation').selectOption('checkout');
  const answers = await sendTwice(page, page.getByRole('button', { name: 'Give it up for good' }));
  expect(answers.map(noticeOf)).toEqual(['fenced', 'fenced']);
  expect(await db.idempotencyKey.findMany({ where: { key } })).toMatchObject([
    { state: 'abandoned', principal: 'carol' },
  ]);
  expect((await auditOf(db, key)).map(({ type }) => type)).toEqual(['fenced']);
  const ran = await settledKey(db, randomUUID());
  await page.goto(`/admin/keys/fence?${new URLSearchParams({ principal: ran.principal, key: ran.key })}`);
  await page.getByLabel('Operation').selectOption(ran.operation);
  await page.getByRole('button', { name: 'Give it up for good' }).click();
  await expect(page.getByRole('main').getByRole('alert')).toContainText('Not given up: this key runs or has run');
  expect((await auditOf(db, ran.key)).map(({ type }) => type)).not.toContain('fenced');
});

test('what is stored of a person is erased once, and their orders stay', async ({ page, context, adminApp }) => {
  const { app, db } = adminApp;
  const principal = randomUUID();
  for (const _ of [1, 2]) await settledKey(db, principal);
  const orders = await db.order.count();
  await enter(page, app);
  await page.goto(`/admin/keys/erase?${new URLSearchParams({ principal })}`);
  const answers = await sendTwice(page, page.getByRole('button', { name: 'Erase it for good' }));
  expect(answers.map(noticeOf)).toEqual(['erased', 'erased']);
  const erasures = await db.idempotencyAudit.findMany({ where: { principal, type: 'erased' }, orderBy: { id: 'asc' } });
  expect(erasures.map(({ detail }) => (detail as { keys: string }).keys)).toEqual(['2']);
  expect(await db.idempotencyKey.count({ where: { principal, result: null } })).toBe(2);
  expect(await db.idempotencyAudit.count({ where: { principal, actor: 'admin', type: 'forgotten' } })).toBe(2);
  expectCounted(await db.order.count()).toBe(orders);
  const other = await context.newPage();
  await other.goto(`/admin/keys/erase?${new URLSearchParams({ principal })}`);
  await other.getByRole('button', { name: 'Erase it for good' }).click();
  await expect(other.getByRole('main').getByRole('status')).toContainText('nothing left to erase');
});

test('A7 what was done to a key is to be found when the key is gone, and who signed in', async ({ page, adminApp }) => {
  const { app, db } = adminApp;
  await enter(page, app);
  const id = await settledKey(db, randomUUID());
  const { tenant, principal, operation, key } = id;
  const detail = `/admin/keys/detail?${new URLSearchParams({ tenant, principal, operation, key })}`;
  await page.goto(detail);
  await page.getByText('Forget what is stored…').click();
  await page.getByRole('button', { name: 'Forget it' }).click();
  await page.waitForURL('**notice=forgotten');
  await db.idempotencyKey.deleteMany({ where: { key } });
  await page.goto(detail);
  await page.waitForURL('**/admin/keys/audit?*');
  const row = page.getByRole('row').filter({ hasText: key });
  await expect(row).toContainText('Erased what was stored of it');
  await expect(row).toContainText('admin');
  await page.getByRole('link', { name: 'All that people did' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Signed in' }).first()).toBeVisible();
  await page.getByLabel('What', { exact: true }).selectOption('Erased what was stored of it');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect(page).toHaveURL(/type=forgotten/);
  await expect(row).toBeVisible();
  await expect(page.getByRole('row').filter({ hasText: 'Signed in' })).toHaveCount(0);
});

test('axe finds nothing in the pages of keys, light and dark, and none scrolls sideways on a phone', {
  tag: '@all',
}, async ({ page, adminApp }) => {
  const { app, db } = adminApp;
  await enter(page, app);
  const { tenant, principal, operation, key } = await settledKey(db, randomUUID());
  await page.setViewportSize({ width: 375, height: 812 });
  const detail = `/admin/keys/detail?${new URLSearchParams({ tenant, principal, operation, key })}`;
  for (const path of [
    '/admin/keys',
    '/admin/keys?stuck=1&q=none',
    detail,
    '/admin/keys/fence',
    '/admin/keys/erase',
    '/admin/keys/audit',
  ]) {
    await page.goto(path);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
      expect(await axeFinds(page, rules), `${path}, ${colorScheme}`).toEqual([]);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path).toBe(true);
  }
});

function noticeOf(answer: string): string | null {
  return new URL(answer.split(' ')[1] ?? '', 'http://any').searchParams.get('notice');
}
