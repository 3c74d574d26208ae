import type { CrashPoint } from 'oncekit';
import { expect, test } from './fixtures/test.ts';

const POINTS: CrashPoint[] = ['before-claim', 'after-claim', 'after-handler', 'before-commit', 'after-commit'];

/** Once in `npm test`, 20 times in `npm run test:crash`. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 1);

for (const point of POINTS) {
  for (let round = 1; round <= ROUNDS; round++) {
    test(`kill -9 ${point}, round ${round}: after the retry, one order`, async ({ page, shop, app, db }) => {
      await page.goto('/lab');
      await app.crashAt(point);
      await shop.orderInLab.click();
      // The app dies, is started again, and the browser sends the same key until it has an answer.
      await expect(shop.status).toHaveAttribute('data-state', 'hasSucceeded', { timeout: 30_000 });
      expect(app.lines.some((line) => line.includes('was killed by SIGKILL'))).toBe(true);
      expect(await shop.gained()).toEqual({ orders: 1, stockTaken: 1, keys: 1 });
      expect(await db.idempotencyKey.count({ where: { state: { in: ['in_progress', 'unknown'] } } })).toBe(0);
      app.lines.length = 0;
      await app.untilHealthy();
    });
  }
}
