import type { Page } from '@playwright/test';
import { createRetryingFetch } from 'oncekit/http';
import type { Client } from '../shop/db.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/outage.ts';

const status = (page: Page) => page.locator('[role=status][data-state]');
const orderButton = (page: Page) => page.getByRole('button', { name: 'Order with oncekit' });

/** The kit's own retries find the database back; if their budget is spent, the person asks once more. */
async function untilOrdered(page: Page): Promise<void> {
  const settled = page.locator('[role=status][data-state=hasSucceeded]');
  await expect(page.getByRole('button', { name: /again/i }).or(settled).first()).toBeVisible({ timeout: 60_000 });
  if (!(await settled.isVisible())) await orderButton(page).click();
  await expect(settled).toBeVisible();
}

test('the database is away: unavailable, nothing executed, and recovery without a restart', {
  tag: '@chaos-short',
}, async ({ page, outage }) => {
  const { app, db } = outage;
  const before = await db.order.count();
  await page.goto(`${app.url}/lab`);
  await outage.stop();
  await orderButton(page).click();
  await expect(status(page)).toHaveAttribute('data-state', /unknown|retrying/);
  expect((await fetch(`${app.url}/api/health`)).status).toBe(503);
  await outage.restart();
  // The form may be quicker than this test: its order is there as soon as the database is.
  await untilOrdered(page);
  expectCounted(await db.order.count()).toBe(before + 1);
  expect(app.lines.filter((line) => line.includes('was killed'))).toEqual([]);
});

test('the database goes away in the middle of an execution: it is as if it had not begun', { tag: '@chaos' }, async ({
  page,
  outage,
}) => {
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
  expectCounted(await db.order.count()).toBe(before + 1);
  expect(app.lines.filter((line) => line.includes('was killed'))).toEqual([]);
});

test('the database goes away under load: 503 and never a wrong answer, and every client finishes when it is back', {
  tag: '@chaos',
}, async ({ outage }) => {
  const { app, gateway, db } = outage;
  const posts = 60;
  const before = await db.order.count();
  const seen: { status: number; retryAfter: string | null }[] = [];
  const send = createRetryingFetch({
    budget: false,
    breaker: false,
    policy: { attempts: 1000, deadlineMs: 90_000, attemptTimeoutMs: 5000 },
    fetch: async (...request) => {
      const answer = await fetch(...request);
      seen.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') });
      return answer;
    },
  });
  const order = async () => {
    const answer = await send(`${app.url}/api/orders`, {
      method: 'POST',
      headers: { Authorization: 'Bearer demo-alice', 'Content-Type': 'application/json' },
      body: JSON.stringify({ sku: 'mug', quantity: 1, payment_method: 'pm_card_visa' }),
    });
    return { status: answer.status, id: (await answer.json()).id as string };
  };
  const answers: Awaited<ReturnType<typeof order>>[] = [];
  let left = posts;
  const sendInTurn = async () => {
    while (left-- > 0) answers.push(await order());
  };
  const clients = Promise.all(Array.from({ length: 10 }, sendInTurn));
  await expect.poll(() => answers.length, { message: 'some are through' }).toBeGreaterThanOrEqual(10);
  await outage.stop();
  await expect.poll(() => seen.filter(({ status }) => status === 503).length).toBeGreaterThanOrEqual(10);
  await outage.restart();
  await clients;

  expect(answers.map(({ status }) => status)).toEqual(Array(posts).fill(201));
  const ids = new Set(answers.map(({ id }) => id));
  expect(ids.size).toBe(posts);
  expectCounted(await db.order.count({ where: { id: { in: [...ids] }, status: 'paid' } })).toBe(posts);
  expectCounted((await db.order.count()) - before).toBe(posts);
  expectCounted((await gateway.ledger()).charges).toHaveLength(posts);
  // What was refused was told so, with the time to come again; nothing else was ever said.
  const statuses = new Set(seen.map(({ status }) => status));
  expect([...statuses].filter((status) => ![201, 409, 503].includes(status))).toEqual([]);
  const refused = seen.filter(({ status }) => status !== 201);
  expect(refused.every(({ retryAfter }) => Number(retryAfter) >= 1)).toBe(true);
});

/** Transactions that have written and stand still. */
async function uncommitted(db: Client): Promise<number> {
  const [row] = await db.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'idle in transaction' AND backend_xid IS NOT NULL`;
  return row?.count ?? 0;
}
