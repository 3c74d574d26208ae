import type { Page } from '@playwright/test';
import { keyHref } from '../components/admin/shared/addresses.ts';
import {
  BLIND,
  deliverWebhooks,
  type KeyId,
  latestKey,
  latestOrder,
  loseCharge,
  openLostCharge,
  sayChargedMore,
} from './fixtures/doubt.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expectGoodPage } from './fixtures/page-checks.ts';
import { picture } from './fixtures/picture.ts';
import { expect, test } from './fixtures/test.ts';

// A shop of its own: the lists show what this test has made, and nothing else.
test.use({ ...BLIND, appEnv: { ...BLIND.appEnv, E2E_FILE: 'unknown-pages' } });

test.beforeEach(({ gateway }) => gateway.offer({ keys: false, search: false }));

test('axe finds nothing in any page of keys that wait, were overruled or contradicted, or ended', {
  tag: '@all',
}, async ({ page, shop, app, gateway, db, webhooks }) => {
  const parts = { page, shop, gateway, db };
  const keys: Record<string, KeyId> = {};
  const orders: Record<string, string> = {};
  const remember = async (name: string, operation = 'checkout') => {
    keys[name] = (await latestKey(db, operation)) as KeyId;
    orders[name] = (await latestOrder(db)).id;
  };

  await shop.checkout('Tote bag');
  await page.getByLabel('Payment method').selectOption('pm_card_chargeDeclined');
  await shop.placeOrder.click();
  await expect(shop.status).toContainText('declined');
  await remember('declined');

  await shop.checkout('Notebook');
  await shop.placeOrder.click();
  await page.waitForURL('**/orders/*');
  await page.getByRole('button', { name: 'Get refund' }).click();
  await expect(page.locator('[data-order-status=refunded]')).toBeVisible();
  await remember('refunded', 'refund');

  const overruled = await openLostCharge(parts);
  await sayChargedMore(app, webhooks, overruled.payment);
  await overruled.adminPage.reload();
  await giveUp(overruled.adminPage, `payment_intent.succeeded ${overruled.payment}`);
  await expect.poll(async () => (await latestOrder(db)).status).toBe('payment_failed');
  await remember('overruled');
  await overruled.adminPage.close();

  const contradicted = await openLostCharge(parts);
  await giveUp(contradicted.adminPage);
  await expect.poll(async () => (await latestOrder(db)).status).toBe('payment_failed');
  await deliverWebhooks(contradicted.payment, webhooks, app);
  await remember('contradicted');
  await contradicted.adminPage.close();

  const heard = await openLostCharge(parts);
  await sayChargedMore(app, webhooks, heard.payment);
  await remember('heard');
  await heard.adminPage.close();

  await loseCharge(shop, gateway);
  await expect.poll(async () => (await latestKey(db, 'checkout'))?.state).toBe('unknown');
  await remember('in doubt');

  const visit = async (name: string, address: string) => {
    await page.goto(address);
    await expect(page.getByRole('main')).toBeVisible();
    await expectGoodPage(page, name);
  };
  await visit('the first admin page', '/admin/keys');
  await picture(page, 'admin-keys');
  for (const address of ['/admin/keys?stuck=1', '/admin/keys?state=failed', '/admin/keys/audit', '/admin/payments'])
    await visit(address, address);
  for (const [name, key] of Object.entries(keys)) await visit(`a key that is ${name}`, keyHref(key));
  for (const [name, id] of Object.entries(orders)) await visit(`an order that is ${name}`, `/orders/${id}`);
  await page.goto(keyHref(keys.refunded as KeyId));
  await picture(page, 'admin-key', page.getByRole('heading', { name: 'Timeline' }));
  await visit('the events that were received', '/admin/messages?box=inbox');
  await page.locator('main a[href^="/admin/messages/detail"]').first().click();
  await page.waitForURL('**/admin/messages/detail?*');
  await expectGoodPage(page, 'an event');
  const counts = await Promise.all(Object.values(orders).map(async (id) => (await gateway.charges(id)).length));
  expectCounted(Object.fromEntries(Object.keys(orders).map((name, n) => [name, counts[n]]))).toEqual({
    ...{ declined: 0, refunded: 1, overruled: 1, contradicted: 1, heard: 1, 'in doubt': 1 },
  });
});

/** Says that the charge did not happen, and types what that overrules. */
async function giveUp(adminPage: Page, overrules?: string): Promise<void> {
  const refusing = adminPage.locator('details', { hasText: 'It did not happen and shall not' });
  await refusing.locator('summary').click();
  if (overrules) await refusing.getByLabel(/^Type .* to overrule/).fill(overrules);
  await refusing.getByRole('button', { name: 'It shall not happen' }).click();
}
