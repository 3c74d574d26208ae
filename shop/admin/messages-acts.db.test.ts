import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { fillDeliveries, watchOf } from '../../lib/messaging/messaging.fixture.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  Object.assign(process.env, {
    DATABASE_URL: database.url,
    IDEMPOTENCY_SECRET: 'a-secret-of-the-tests-of-the-shop-alone',
    STRIPE_API_BASE: 'http://127.0.0.1:1',
  });
});
afterAll(async () => {
  const { db } = await import('../db.ts');
  await db().$disconnect();
  await database?.drop();
});

const dead = () => database.client.outboxDelivery.count({ where: { destination: 'crm', state: 'dead' } });

test('M4 requeuing all ends within a request’s time, says that some are left, and goes on when it is pressed again', async () => {
  await fillDeliveries(database.client, 'dead', 2500, ['crm']);
  // The time of the first press is up while its first batch waits for a row.
  const time = new AbortController();
  const clock = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(time.signal);
  const watch = await watchOf(database.url);
  onTestFinished(async () => {
    clock.mockRestore();
    await watch.close();
  });
  const { messageActs } = await import('./messages-acts.ts');
  const account = { name: 'eve', tenant: null };
  const press = async () => {
    const form = new FormData();
    form.set('idempotency_key', await messageActs.newKey('eve'));
    form.set('destination', 'crm');
    return { form, said: await messageActs.once('requeue_all', form, account) };
  };
  const pressed = await database.client.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT FROM outbox_deliveries WHERE aggregate = 'a:0001' FOR UPDATE`;
    const first = press();
    await watch.untilWaiting(1);
    time.abort();
    return { first };
  });
  const first = await pressed.first;
  expect(clock.mock.calls[0]).toEqual([2000]);
  expectCounted([first.said, await dead()]).toEqual(['requeued_some', 1500]);
  // A copy of the same request is no second press.
  expect(await messageActs.once('requeue_all', first.form, account)).toBe('requeued_some');
  expectCounted(await dead()).toBe(1500);
  expect((await press()).said).toBe('requeued_all');
  expectCounted([await dead(), (await press()).said]).toEqual([0, 'none_dead']);
  expectCounted(await database.client.messageEvent.count({ where: { type: 'requeued', actor: 'eve' } })).toBe(2500);
});
