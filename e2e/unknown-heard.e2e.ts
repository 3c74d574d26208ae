import { keyHref } from '../components/admin/shared/addresses.ts';
import { signIn } from './fixtures/admin.ts';
import {
  BLIND,
  deliverWebhooks,
  expectWordsOfDoubt,
  type KeyId,
  latestKey,
  latestOrder,
  loseRefund,
  openLostCharge,
  openUnknownKey,
  paymentOf,
  sayChargedMore,
} from './fixtures/doubt.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expectGoodPage } from './fixtures/page-checks.ts';
import { picture } from './fixtures/picture.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, test } from './fixtures/test.ts';

/** Nobody can be asked what became of a charge whose answer was lost, and then the provider speaks by itself. */
test.use(BLIND);

test.beforeEach(({ gateway }) => gateway.offer({ keys: false, search: false }));

for (const isFirst of [false, true]) {
  test(`a proof that comes ${isFirst ? 'before' : 'behind'} the doubt ends it by itself: paid, charged once`, async ({
    page,
    shop,
    app,
    gateway,
    db,
    webhooks,
  }) => {
    await shop.checkout();
    await gateway.break({ path: '/v1/payment_intents', kind: 'lose-answer' });
    const letGo = isFirst ? await app.holdAt('after-answer') : undefined;
    await shop.placeOrder.click();
    if (!isFirst) await expectWordsOfDoubt(page, shop);
    await expect.poll(async () => (await latestKey(db, 'checkout'))?.state).toBe(isFirst ? 'in_progress' : 'unknown');
    const { id } = await latestOrder(db);
    const payment = await paymentOf(id, gateway);
    await deliverWebhooks(payment, webhooks, app);
    await letGo?.();
    await page.waitForURL(`**/orders/${id}`);
    await expect(page.getByText(/^Charged once/)).toBeVisible();
    await signIn(page);
    await page.goto(keyHref((await latestKey(db, 'checkout')) as KeyId));
    const known = page.getByRole('region', { name: 'What is known' });
    await expect(known).toContainText(
      new RegExp(`Charged once.*${payment}, said by stripe .+ UTC, confirmed by the provider`),
    );
    if (!isFirst) await picture(page, 'doubt-ended');
    const { key } = (await latestKey(db, 'checkout')) as KeyId;
    expect(await db.idempotencyAudit.count({ where: { key } }), 'no person was asked').toBe(0);
    expectCounted(await gateway.charges(id)).toHaveLength(1);
  });
}

const MISTAKES = [
  {
    gave: 'gave up',
    answer: 'It did not happen and shall not',
    button: 'It shall not happen',
    state: 'failed',
    tag: [],
  },
  {
    ...{ gave: 'had sent again', answer: 'I have checked that it did not happen: send it', button: 'Send it again' },
    ...{ state: 'succeeded', tag: '@all' },
  },
];

for (const { gave, answer, button, state, tag } of MISTAKES) {
  test(`a lost charge that a person ${gave}, and the provider then tells of: seen on the first admin page, and given back`, {
    tag,
  }, async ({ page, shop, app, gateway, db, webhooks }) => {
    const { adminPage, order: given, payment } = await openLostCharge({ page, shop, gateway, db });
    await adminPage.getByText(answer).click();
    await adminPage.getByRole('button', { name: button }).click();
    await expect.poll(async () => (await latestOrder(db)).status).toBe(state === 'failed' ? 'payment_failed' : 'paid');
    // It is bought again, or was sent again: charged twice, which nobody knows.
    if (state === 'failed') {
      // The form hears of it, and has no button that pays again from the same cart.
      const words = 'We could not confirm this payment. If you were charged, it will be given back.';
      await expect(shop.status).toContainText(words);
      await expect(shop.placeOrder).toHaveCount(0);
      await expect(page.getByRole('link', { name: 'Start a new order' })).toBeVisible();
      await expectGoodPage(page, 'a form whose payment was given up');
      // Opened anew, the cart says it above what would be a second payment.
      await page.reload();
      await expect(page.getByText('We could not confirm your earlier payment of this cart.')).toBeVisible();
      await expect(page.getByRole('link', { name: 'View that order' })).toHaveAttribute('href', `/orders/${given.id}`);
      await expectGoodPage(page, 'a cart that was given up');
      await shop.checkout();
      await shop.placeOrder.click();
    }
    await page.waitForURL('**/orders/*');
    const bought = await latestOrder(db);
    await deliverWebhooks(payment, webhooks, app);
    expect(await db.idempotencyKey.findFirst({ where: { key: given.idempotencyKey ?? '' } })).toMatchObject({
      state,
      needsAttention: true,
    });

    await adminPage.goto('/admin/keys');
    await expect(adminPage.getByRole('alert').filter({ hasText: /Money that nobody expected: \d/ })).toBeVisible();
    await expect(adminPage.getByRole('alert').filter({ hasText: /keys? ha(s|ve) ended/ })).toBeVisible();
    if (state === 'failed') {
      await expectGoodPage(adminPage, 'a contradiction on the first page');
      await picture(adminPage, 'doubt-contradicted');
    }
    await adminPage.getByRole('link', { name: /^Look at / }).click();
    const ofPayment = { has: adminPage.getByText(payment) };
    const money = adminPage.getByRole('region', { name: /was paid, and no order expects it/ }).filter(ofPayment);
    await expect(money.getByRole('link', { name: given.id })).toBeVisible();
    if (state === 'failed') {
      await expectGoodPage(adminPage, 'money that nobody expected');
      await picture(adminPage, 'doubt-money', adminPage.getByRole('heading', { level: 1 }));
    }
    await money.getByText('Refund it…').click();
    await money.getByRole('button', { name: /^Refund \$/ }).click();
    await expect(adminPage.getByText('Given back, once.')).toBeVisible();
    await expect(money).toHaveCount(0);
    const ids = [...new Set([given.id, bought.id])];
    const charges = (await Promise.all(ids.map(gateway.charges))).flat();
    const refunds = (await Promise.all(ids.map(gateway.refunds))).flat();
    expectCounted([charges.length, refunds.map((refund) => refund.payment_intent)]).toEqual([2, [payment]]);

    await page.goto(`/orders/${given.id}`);
    const main = page.getByRole('main');
    await expect(main.locator('[data-refund-status=succeeded]')).toContainText('of a payment that we did not expect');
    await expect(main).toContainText(state === 'failed' ? 'We could not confirm this payment' : 'Charged twice');
    await expect(main).not.toContainText(state === 'failed' ? /declined|stripe/i : /charged once/i);
    if (state === 'failed') {
      await expect(main).toContainText('You were charged, and it has been given back.');
      await expect(main).toContainText(/said by our payment provider .* UTC/);
      await expectGoodPage(page, 'an order whose charge was given back');
      await picture(page, 'doubt-given-back');
    }
  });
}

test('whose money is in doubt stands first, and what was heard of it is overruled by no click', async ({
  page,
  shop,
  app,
  gateway,
  db,
  webhooks,
}) => {
  const { adminPage, order, payment } = await openLostCharge({ page, shop, gateway, db });
  await page.close();
  const panel = adminPage.getByRole('region', { name: 'What happened at the provider?' });
  const facts = [order.id, '$18.00', `${ADA.Name} (${ADA.Email})`, / UTC \(\d+ (second|minute)s? ago\)/];
  for (const text of facts) await expect(panel.getByRole('definition').filter({ hasText: text }).first()).toBeVisible();
  const [first, ...others] = await panel.getByRole('button').allTextContents();
  expect([first, ...others]).toEqual(['Copy', 'It went through']);
  await expect(panel.getByText('Nobody can be asked from here')).toBeVisible();
  await expectGoodPage(adminPage, 'a call in doubt');
  await picture(adminPage, 'doubt-key', panel);

  // Of another amount than was sent: words alone, which nobody can be asked about.
  await sayChargedMore(app, webhooks, payment);
  await adminPage.reload();
  await expect(panel.getByText(`stripe says: payment_intent.succeeded ${payment}`)).toBeVisible();
  for (const [summary, button] of [
    ['It did not happen and shall not', 'It shall not happen'],
    ['I have checked that it did not happen: send it', 'Send it again'],
  ] as const) {
    await panel.getByText(summary).click();
    await panel.getByRole('button', { name: button }).click();
    await expect(panel.locator('details', { hasText: summary }).getByLabel(/^Type .* to overrule/)).toBeFocused();
  }
  await expectGoodPage(adminPage, 'a call that was heard of');
  await picture(adminPage, 'doubt-heard', panel);
  expect(await db.idempotencyAudit.count({ where: { key: order.idempotencyKey ?? '' } })).toBe(0);
  await panel.getByLabel('Reference at the provider').fill(payment);
  await panel.getByRole('button', { name: 'It went through' }).click();
  await expect.poll(async () => (await latestOrder(db)).status).toBe('paid');
  expectCounted(await gateway.charges(order.id)).toHaveLength(1);
});

test('what was heard of a lost refund stands first, and is overruled by who types its name, with JavaScript and without', async ({
  browser,
  page,
  shop,
  gateway,
  db,
}) => {
  const orderId = await loseRefund(page, { shop, gateway, db });
  const adminPage = await page.context().newPage();
  await openUnknownKey(adminPage, db, 'refund');
  await page.close();
  const { tenant, principal, operation, key } = (await latestKey(db, 'refund')) as KeyId;
  const heard = { type: 'evidence', actor: 'stripe', detail: { said: 'refund.updated re_heard' } };
  await db.idempotencyEvent.create({ data: { tenant, principal, operation, key, ...heard } });
  const address = adminPage.url();
  const verdicts = () => db.idempotencyAudit.count({ where: { key, type: 'verdict' } });

  await adminPage.goto(address);
  await expect(adminPage.getByText(/stripe says: refund.updated re_heard at .* UTC/)).toBeVisible();
  const refusing = adminPage.locator('details', { hasText: 'It did not happen and shall not' });
  await refusing.locator('summary').click();
  const typed = refusing.getByLabel('Type refund.updated re_heard to overrule what was heard');
  await expectGoodPage(adminPage, 'a call that was heard of');
  await refusing.getByRole('button').click();
  await expect(typed).toBeFocused(); // asked for by the browser
  await typed.fill('re_heard');
  await refusing.getByRole('button').click();
  await expect(adminPage.getByText('your word overrules: refund.updated re_heard')).toBeVisible();
  await expect(typed).toHaveAttribute('aria-invalid', 'true');
  await expect(typed).toHaveValue('re_heard');
  await expectGoodPage(adminPage, 'a verdict that was refused');

  const storageState = await adminPage.context().storageState();
  const plain = await browser.newContext({ javaScriptEnabled: false, storageState });
  const plainPage = await plain.newPage();
  await plainPage.goto(address);
  const again = plainPage.locator('details', { hasText: 'It did not happen and shall not' });
  const plainTyped = again.getByLabel('Type refund.updated re_heard to overrule what was heard');
  await again.locator('summary').click();
  await plainTyped.fill('re_heard');
  await again.getByRole('button').click();
  await expect(again.getByText('That is not refund.updated re_heard.')).toBeVisible();
  await expect(plainTyped).toHaveValue('re_heard');
  expect(await verdicts()).toBe(0);
  await plainTyped.fill('refund.updated re_heard');
  await again.getByRole('button').click();
  await expect(plainPage.getByText('failed', { exact: true })).toBeVisible();
  await plain.close();
  expect(await verdicts()).toBe(1);
  expect(await db.refund.findMany({ where: { orderId } })).toMatchObject([{ status: 'failed' }]);
  expectCounted(await gateway.refunds(orderId)).toEqual([]);
});
