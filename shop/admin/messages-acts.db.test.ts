import { afterAll, beforeAll, expect, test } from 'vitest';
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

/** Dead letters of `crm`, of which requeuing the first takes as long as one form requeues. */
async function fill(count: number) {
  const { client } = database;
  await client.$executeRaw`
    INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
    SELECT gen_random_uuid(), 'a:' || lpad(n::text, 4, '0'), 1, 'order.paid', '{}', '{}', 'key ' || n, now()
      FROM generate_series(1, ${count}::int) n`;
  await client.$executeRaw`
    INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, state, settled_at)
    SELECT id, 'crm', aggregate, sequence, 'dead', now() FROM outbox_events`;
  await client.$executeRaw`
    CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(2.1); RETURN NEW; END'`;
  await client.$executeRaw`
    CREATE TRIGGER take_long BEFORE UPDATE ON outbox_deliveries
      FOR EACH ROW WHEN (OLD.aggregate = 'a:0001') EXECUTE FUNCTION take_long()`;
}

const dead = () => database.client.outboxDelivery.count({ where: { destination: 'crm', state: 'dead' } });

test('M4 requeuing all ends within a request’s time, says that some are left, and goes on when it is pressed again', async () => {
  await fill(2500);
  const { messageActs } = await import('./messages-acts.ts');
  const account = { name: 'eve', tenant: null };
  const press = async () => {
    const form = new FormData();
    form.set('idempotency_key', await messageActs.newKey('eve'));
    form.set('destination', 'crm');
    return { form, said: await messageActs.once('requeue_all', form, account) };
  };
  const first = await press();
  expectCounted([first.said, await dead()]).toEqual(['requeued_some', 1500]);
  // A copy of the same request is no second press.
  expect(await messageActs.once('requeue_all', first.form, account)).toBe('requeued_some');
  expectCounted(await dead()).toBe(1500);
  expect((await press()).said).toBe('requeued_all');
  expectCounted([await dead(), (await press()).said]).toEqual([0, 'none_dead']);
  expectCounted(await database.client.messageEvent.count({ where: { type: 'requeued', actor: 'eve' } })).toBe(2500);
});
