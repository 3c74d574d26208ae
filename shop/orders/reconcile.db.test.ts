import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInbox } from 'oncekit/messaging';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { checkoutPayload, openShop } from '../shop.fixture.ts';

// The shop after a restore: `oncekit reconcile` as a process, and the gateway's own ledger.

const root = fileURLToPath(new URL('../../', import.meta.url));
let shop: Awaited<ReturnType<typeof openShop>>;
let consumer: TestDatabase;
let folder: string;
beforeAll(async () => {
  shop = await openShop();
  consumer = await testDatabase();
  folder = process.env.DEMO_FAULTS_DIR as string;
});
afterAll(async () => {
  await consumer?.drop();
  await shop?.close();
});
beforeEach(() => consumer.client.inboxEvent.deleteMany());

interface Ended {
  code: number | null;
  signal: string | null;
  out: string;
  err: string;
}

function reconcile(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const app = ['--idempotency', 'shop/idempotency.ts', '--operations', 'shop/operations.ts'];
  const command = ['--import', 'tsx', path.join(root, 'lib/cli/oncekit.ts'), 'reconcile', ...args, ...app];
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      command,
      { cwd: root, env: { ...process.env, CONSUMER_URL: consumer.url, ...env } },
      (_, out, err) => resolve({ code: child.exitCode, signal: child.signalCode, out, err }),
    );
  });
}

/** A purchase that was paid for and announced; and a backup from before it, in place of the database. */
async function lostPurchase() {
  const [cart, key] = [await shop.cart(), randomUUID()];
  const first = await shop.place(cart, { key });
  if (!first.ok) throw new Error(JSON.stringify(first));
  const [event] = await shop.client.outboxEvent.findMany({ where: { aggregate: `order:${first.data.id}` } });
  const eventId = event?.id as string;
  const inbox = createInbox({ prisma: consumer.client });
  await inbox.receiveOnce({ source: 'shop', eventId, payload: {} }, async () => {});
  await shop.client.$executeRawUnsafe(
    'TRUNCATE idempotency_keys, idempotency_phases, outbox_events, outbox_aggregates, ledger_entries, orders CASCADE',
  );
  shop.idempotency.dropRecent({ ...shop.ada, operation: 'checkout', key });
  await shop.forget(); // it is a day later: the gateway no longer knows the derived key
  const keys = path.join(folder, `${key}.jsonl`);
  await writeFile(keys, JSON.stringify({ ...shop.ada, operation: 'checkout', key, payload: checkoutPayload(cart) }));
  return { cart, key, keys, eventId, order: first.data };
}

const charges = async ({ order }: { order: { id: string } }) => (await shop.moved(order.id)).charges.length;

test('without it, a late retry is charged a second time', async () => {
  const lost = await lostPurchase();
  expect(await shop.place(lost.cart, { key: lost.key })).toMatchObject({ ok: true, replayed: false });
  expectCounted(await charges(lost)).toBe(2);
});

test('the purchase is listed, and entered when it is said; late retries are answered, and nobody is charged again', async () => {
  const lost = await lostPurchase();
  const args = ['--keys', lost.keys, '--inbox', 'CONSUMER_URL', '--actor', 'eve'];
  const list = await reconcile(args);
  expect(list.out).toMatch(/^KEY +OPERATION +PRINCIPAL +DATABASE +OUTSIDE\n/);
  expect(list.out).toMatch(`${lost.key}  checkout   ada        lost      charge_created: found, 1 event received\n`);
  expect(list.err).toContain('To enter what the outside knows without being asked: --yes.');
  expect(list.code).toBe(1);
  expect(await shop.client.idempotencyKey.count()).toBe(0);
  expectCounted(await shop.client.order.count()).toBe(0);

  const entered = await reconcile([...args, '--yes']);
  expect(entered.out).toContain(`${lost.key}: entered: succeeded\n`);
  expect(entered).toMatchObject({ code: 0, err: '' });
  const late = await shop.place(lost.cart, { key: lost.key });
  expect(late).toMatchObject({ ok: true, replayed: true, data: lost.order });
  expect(await shop.place(randomUUID(), { key: lost.key })).toMatchObject({ code: 'payload_mismatch' });
  expectCounted(await charges(lost)).toBe(1);
  expect(await shop.order(lost.order.id)).toMatchObject({ status: 'paid' });
  expect((await shop.client.outboxEvent.findMany()).map(({ id }) => id)).toEqual([lost.eventId]);
  expect(await shop.client.idempotencyAudit.findMany({ where: { key: lost.key } })).toMatchObject([
    { type: 'reconciled', actor: 'eve', detail: { by: `charge_created: found, event ${lost.eventId}` } },
  ]);

  const again = await reconcile([...args, '--yes', '--json']);
  expect(JSON.parse(again.out)).toEqual({
    keys: [{ ...shop.ada, operation: 'checkout', key: lost.key, kind: 'known', state: 'succeeded' }],
    orphans: [],
  });
  expect(again.code).toBe(0);
  for (const { out, err } of [list, entered, again]) expect(out + err).not.toContain('Engine Way');
});

test('killed behind the entry: the completer finishes it, without a second charge', async () => {
  const lost = await lostPurchase();
  await writeFile(path.join(folder, 'crash-at'), 'before-commit checkout order_created');
  const killed = await reconcile(['--keys', lost.keys, '--yes'], { DEMO_LEASE_MS: '500' });
  expect(killed).toMatchObject({ signal: 'SIGKILL' });
  const row = () => shop.client.idempotencyKey.findFirstOrThrow({ where: { key: lost.key } });
  expect(await row()).toMatchObject({ state: 'in_progress' });
  expectCounted(await shop.client.order.count()).toBe(0);
  await vi.waitFor(
    async () => {
      await shop.idempotency.completeDue();
      expect((await row()).state).toBe('succeeded');
    },
    { interval: 100 },
  );
  expectCounted(await charges(lost)).toBe(1);
  expect(await shop.place(lost.cart, { key: lost.key })).toMatchObject({ replayed: true, data: lost.order });
});

test('an intent that was never charged is not entered: a late retry executes it', async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  const keys = path.join(folder, `${key}.jsonl`);
  await writeFile(keys, JSON.stringify({ ...shop.ada, operation: 'checkout', key, payload: checkoutPayload(cart) }));
  const ended = await reconcile(['--keys', keys, '--yes']);
  expect(ended.out).toMatch(/ lost +charge_created: absent\n/);
  expect(ended.code).toBe(0);
  expect(await shop.client.idempotencyKey.count({ where: { key } })).toBe(0);
  expect(await shop.place(cart, { key })).toMatchObject({ ok: true, replayed: false });
});
