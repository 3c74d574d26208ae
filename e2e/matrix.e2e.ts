import type { Cell } from '../scripts/testing/matrix-table.ts';
import {
  clickAndWait,
  loseConnection,
  MANY,
  noteWords,
  otherTab,
  type Parts,
  reloadUntilOrdered,
  TO_CHECKOUT,
  untilClaimed,
  untilOrdered,
  untilShownOrdered,
} from './fixtures/checkout-plays.ts';
import type { Network } from './fixtures/proxy-control.ts';
import { ADA } from './fixtures/shop.ts';
import { expect, holdHydration, test } from './fixtures/test.ts';

/** The deeds of a person and the world to a checkout that is filled and not yet sent; ends when the person knows. */
type Play = (parts: Parts) => Promise<void>;

interface Row {
  name: string;
  on: Play;
  /** Without JavaScript; or why this cannot be. */
  off: Play | string;
  /** The page shows its HTML and does not run. The play hydrates it. */
  isHeld?: boolean;
  /** A second form has a key of its own, if it gets to send it. */
  keys?: number[];
}

const rows: Row[] = [
  {
    name: 'double click',
    async on({ page, shop }) {
      await shop.placeOrder.dblclick();
      await untilOrdered(page);
      expect(await shop.posts(), 'the second click never left the browser').toBe(1);
    },
    async off({ page, shop }) {
      await shop.submitTwice();
      // On a slow machine the first one takes longer than the second one waits, whose page says so: it is sent again.
      await page.waitForURL('**/orders/*', { waitUntil: 'commit', timeout: 10_000 }).catch(() => {});
      await reloadUntilOrdered(page);
    },
  },
  {
    name: 'double click before hydration',
    isHeld: true,
    async on({ page, shop }) {
      await shop.submitTwice();
      await untilOrdered(page);
    },
    off: 'without JavaScript no page hydrates',
  },
  ...[1, 3].map(
    (times): Row => ({
      name: `lost answer ×${times}`,
      async on({ page, shop, network }) {
        await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times });
        await shop.placeOrder.click();
        await untilOrdered(page);
        expect(await lost(network)).toBe(times);
      },
      async off({ page, shop, network }) {
        await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times });
        await clickAndWait(page, shop);
        await reloadUntilOrdered(page);
        expect(await lost(network)).toBe(times);
      },
    }),
  ),
  {
    name: 'reload mid-flight',
    async on({ page, shop, app }) {
      const letGo = await app.holdAt('after-started');
      await shop.placeOrder.click();
      await untilClaimed(shop);
      await page.reload();
      await expect(shop.status).toHaveAttribute('data-state', 'checking');
      await letGo();
      await expect(shop.status).toContainText('already');
      await page.getByRole('link', { name: 'View the order' }).click();
      await untilOrdered(page);
    },
    async off({ page, shop, app }) {
      const letGo = await app.holdAt('after-started');
      await (await shop.aim())();
      await untilClaimed(shop);
      // It takes the place of the native submit, which Playwright takes for a failure.
      await page.reload().catch(() => {});
      // Its payment is under way: nothing orders it again, and the page goes to the order by itself.
      await expect(
        page.getByRole('link', { name: 'View the order' }).or(page.getByText(ADA.Name)).first(),
      ).toBeVisible();
      await expect(shop.placeOrder).toHaveCount(0);
      await untilOrdered(page);
      await letGo();
      await expect(page.locator('[data-order-status=paid]')).toBeVisible();
    },
  },
  {
    name: 'offline mid-flight',
    async on({ page, context, shop, network, app }) {
      await loseConnection({ context, shop, network, app }, () => shop.placeOrder.click());
      await expect(shop.status).toContainText(/You are offline|Placing your order/);
      await network.heal();
      await context.setOffline(false);
      await untilOrdered(page);
    },
    async off({ page, context, shop, network, app }) {
      await loseConnection({ context, shop, network, app }, await shop.aim());
      await expect.poll(() => page.url()).toMatch(/^chrome-error:/);
      await network.heal();
      await context.setOffline(false);
      await reloadUntilOrdered(page);
    },
  },
  {
    name: 'edit after a lost answer',
    async on({ page, shop, network }) {
      await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
      await shop.placeOrder.click();
      await expect.poll(() => shop.posts()).toBeGreaterThan(1);
      await page.getByLabel('City').fill('Paris');
      await network.heal();
      // Between two attempts the edit stops them and the form finds out. During one, its answer leads to the order as well, at any moment.
      const link = shop.status.filter({ hasText: 'already' }).getByRole('link', { name: 'View the order' });
      await expect(async () => {
        if (!page.url().includes('/orders/')) await link.click({ timeout: 1000 });
      }).toPass();
      await untilOrdered(page);
      await expect(page.getByText(ADA.City), 'what was sent, not what was entered later').toBeVisible();
    },
    async off({ page, shop, network }) {
      await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
      await clickAndWait(page, shop);
      await network.heal();
      // The failed page has taken the form's place in the history: whoever wants to change it opens the cart again.
      await page.goto('/checkout');
      await expect(shop.status).toContainText('already');
    },
  },
  {
    name: 'two tabs',
    keys: [1, 2],
    async on({ page, context, shop }) {
      const other = await otherTab(page, context);
      await shop.placeOrder.click();
      await untilOrdered(page);
      const status = other.locator('[role=status][data-state]');
      // A tab that has heard of it has no form left.
      await expect(status).toContainText('already');
      await other.close();
    },
    async off({ page, context, shop }) {
      const other = await otherTab(page, context);
      await shop.placeOrder.click();
      await untilOrdered(page);
      await other.getByRole('button', { name: 'Place order' }).click();
      await untilOrdered(other); // the cart's one order
      await other.close();
    },
  },
  {
    name: 'back after success',
    on: backAfterSuccess,
    off: backAfterSuccess,
  },
  {
    name: 'server killed mid-flight',
    async on({ page, shop, app }) {
      await app.crashAt('before-commit');
      await shop.placeOrder.click();
      await untilShownOrdered(page);
      expect(app.lines.some((line) => line.includes('was killed by SIGKILL'))).toBe(true);
    },
    async off({ page, shop, app }) {
      await app.crashAt('before-commit');
      await clickAndWait(page, shop);
      await app.untilHealthy();
      await reloadUntilOrdered(page);
      expect(app.lines.some((line) => line.includes('was killed by SIGKILL'))).toBe(true);
    },
  },
];

/** The rows that `npm test` plays: the others have tests of their own there. */
const SHORT = {
  on: ['double click before hydration', 'offline mid-flight'],
  off: ['double click', 'lost answer ×1'],
};

for (const [column, javaScriptEnabled] of [
  ['on', true],
  ['off', false],
] as const) {
  test.describe(`JavaScript ${column}`, () => {
    test.use({ javaScriptEnabled });

    for (const { name, isHeld, keys = [1], ...row } of rows) {
      const play = row[column];
      if (typeof play === 'string') continue;
      const cell: Cell = { row: name, javaScript: javaScriptEnabled };
      if (typeof row.off === 'string') cell.why = row.off;
      const annotation = { type: 'matrix', description: JSON.stringify(cell) };
      const tag = SHORT[column].includes(name) ? [] : '@all';
      test(name, { annotation, tag }, async ({ page, context, shop, network, app, db, gateway }) => {
        if (javaScriptEnabled) await page.addInitScript(noteWords);
        await shop.buy();
        const hydrate = isHeld ? await holdHydration(page) : undefined;
        if (isHeld) await page.reload({ waitUntil: 'commit' });
        await shop.fillAddress();
        const key = await page.locator('input[name=idempotency_key]').getAttribute('value');
        await network.heal();
        app.lines.length = 0;

        await play({ page, context, shop, network, app });
        await hydrate?.();

        const { keys: gainedKeys, ...gained } = await shop.gained();
        expect(gained).toEqual({ orders: 1, stockTaken: 1 });
        expect(keys).toContain(gainedKeys);
        const order = await db.order.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });
        expect(order.idempotencyKey, 'the key that was in the page').toBe(key);
        await expect.poll(async () => (await gateway.charges(order.id)).length).toBe(1);
        await expect
          .poll(async () => (await db.idempotencyKey.findFirst({ where: { key: key ?? '' } }))?.state)
          .toBe('succeeded');
        if (javaScriptEnabled) {
          const words = await page.evaluate(() => JSON.parse(sessionStorage.getItem('e2e:words') ?? '{}'));
          for (const [state, said] of Object.entries(words)) {
            if (state !== 'idle') expect(said, `the words of ${state}`).not.toBe('');
          }
        }
      });
    }
  });
}

async function backAfterSuccess({ page, shop }: Parts): Promise<void> {
  await shop.placeOrder.click();
  await untilOrdered(page);
  const order = page.url();
  await page.goBack();
  await expect(page.getByRole('heading', { name: 'Checkout' })).toBeVisible();
  // With Cache Components the page of the order is still there, hidden.
  const status = shop.status.filter({ visible: true });
  await expect(async () => {
    // The browser shows the old form, which may be sent again and may give way at any moment, or fetches the page anew, which knows.
    if (await shop.placeOrder.isVisible()) await shop.placeOrder.click({ timeout: 1000 });
    if (page.url() !== order) await expect(status).toContainText('already', { timeout: 1000 });
  }).toPass();
}

async function lost(network: Network): Promise<number> {
  return (await network.posts()).filter(({ fault }) => fault === 'lose-answer').length;
}
