import { test as base, expect, type Page } from '@playwright/test';
import { type Client, createClient } from '../lib/demo/db.ts';
import { migrate } from '../scripts/migrate.ts';
import { type Postgres, startPostgres } from '../scripts/postgres.ts';
import { seed } from '../scripts/seed.ts';
import { type AppProcess, freePort, startApp } from './fixtures/app-process.ts';

/** An app on a server of its own: this one goes away and comes back where the app looks for it. */
interface Outage {
  app: AppProcess;
  db: Client;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

const test = base.extend<{ outage: Outage }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the parameter's pattern
  outage: async ({}, use) => {
    const port = await freePort();
    let server: Postgres = await startPostgres({ name: 'outage', port });
    await migrate(server.url);
    await seed(server.url);
    const app = await startApp(server.url);
    const db = createClient(server.url);
    const restart = async () => {
      server = await startPostgres({ name: 'outage', port });
      await app.untilHealthy();
    };
    await use({ app, db, restart, stop: () => server.stop() });
    await db.$disconnect();
    await app.stop();
    await server.stop();
  },
});
test.setTimeout(120_000);

const status = (page: Page) => page.locator('[role=status][data-state]');
const orderButton = (page: Page) => page.getByRole('button', { name: 'Order with oncekit' });

/** The kit's own retries find the database back; if their budget is spent, the person asks once more. */
async function untilOrdered(page: Page): Promise<void> {
  const settled = page.locator('[role=status][data-state=hasSucceeded]');
  await expect(page.getByRole('button', { name: /again/i }).or(settled).first()).toBeVisible({ timeout: 60_000 });
  if (!(await settled.isVisible())) await orderButton(page).click();
  await expect(settled).toBeVisible();
}

test('the database is away: unavailable, nothing executed, and recovery without a restart', async ({
  page,
  outage,
}) => {
  const { app, db } = outage;
  const before = await db.order.count();
  await page.goto(`${app.url}/lab`);
  await outage.stop();
  await orderButton(page).click();
  await expect(status(page)).toHaveAttribute('data-state', /unknown|retrying/);
  expect((await fetch(`${app.url}/api/health`)).status).toBe(503);
  await outage.restart();
  expect(await db.order.count()).toBe(before);
  await untilOrdered(page);
  expect(await db.order.count()).toBe(before + 1);
  expect(app.lines.filter((line) => line.includes('was killed'))).toEqual([]);
});

test('the database goes away in the middle of an execution: it is as if it had not begun', async ({ page, outage }) => {
  const { app, db } = outage;
  const before = await db.order.count();
  await page.goto(`${app.url}/lab`);
  const letGo = await app.holdAt('after-handler');
  await orderButton(page).click();
  await expect.poll(async () => uncommitted(db)).toBe(1);
  await outage.stop();
  await letGo();
  await expect(status(page)).toHaveAttribute('data-state', /unknown|retrying/);
  await outage.restart();
  await untilOrdered(page);
  expect(await db.order.count()).toBe(before + 1);
  expect(app.lines.filter((line) => line.includes('was killed'))).toEqual([]);
});

/** Transactions that have written and stand still. */
async function uncommitted(db: Client): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'idle in transaction' AND backend_xid IS NOT NULL`;
  return row?.count ?? 0;
}
