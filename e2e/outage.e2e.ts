import { test as base, expect } from '@playwright/test';
import { createClient } from '../lib/demo/db.ts';
import { migrate } from '../scripts/migrate.ts';
import { startPostgres } from '../scripts/postgres.ts';
import { seed } from '../scripts/seed.ts';
import { freePort, startApp } from './fixtures/app-process.ts';

// A server of its own: this one goes away and comes back where the app looks for it.
base(
  'the database goes away: unavailable, nothing executed, and recovery without a restart',
  async ({ page, request }) => {
    base.setTimeout(120_000);
    const port = await freePort();
    let server = await startPostgres({ name: 'outage', port });
    await migrate(server.url);
    await seed(server.url);
    const app = await startApp(server.url);
    const db = createClient(server.url);
    try {
      const before = await db.order.count();
      await page.goto(`${app.url}/lab`);
      const status = page.locator('[role=status][data-state]');
      await server.stop();
      await page.getByRole('button', { name: 'Order with oncekit' }).click();
      await expect(status).toHaveAttribute('data-state', /unknown|retrying/);
      expect((await request.get(`${app.url}/api/health`)).status()).toBe(503);

      server = await startPostgres({ name: 'outage', port });
      const restarted = createClient(server.url);
      await app.untilHealthy();
      expect(await restarted.order.count()).toBe(before);
      // Either the kit's own retries find the database back, or the person asks once more: the same key all along.
      const again = page.getByRole('button', { name: /again/i });
      const settled = page.locator('[role=status][data-state=hasSucceeded]');
      await expect(again.or(settled).first()).toBeVisible({ timeout: 40_000 });
      if (!(await settled.isVisible())) await page.getByRole('button', { name: 'Order with oncekit' }).click();
      await expect(settled).toBeVisible();
      expect(await restarted.order.count()).toBe(before + 1);
      expect(app.lines.filter((line) => line.includes('was killed'))).toEqual([]);
      await restarted.$disconnect();
    } finally {
      await db.$disconnect();
      await app.stop();
      await server.stop();
    }
  },
);
