import { signWebhook } from 'oncekit/messaging';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../lib/store/store.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
let database: TestDatabase;
let receiver: typeof import('./receiver.ts');
let receiveWebhook: typeof import('./webhook.ts').receiveWebhook;

beforeAll(async () => {
  database = await testDatabase();
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('EVENTS_WEBHOOK_SECRET', SECRET);
  // Only now: these modules read where the database is when they are evaluated.
  receiver = await import('./receiver.ts');
  ({ receiveWebhook } = await import('./webhook.ts'));
});
afterAll(async () => {
  const { db } = await import('../db.ts');
  await db().$disconnect();
  vi.unstubAllEnvs();
  await database?.drop();
});

const ORDER = '01a1ffa7-afa6-42d8-944f-50a37319bc8e';
const ann = { tenant: 'demo', principal: 'ann' };
const paid = {
  type: 'order.paid',
  aggregate: `order:${ORDER}`,
  sequence: 1,
  data: { orderId: ORDER, amountCents: 1800 },
};

function post(id: string, what: unknown = paid, secrets = [SECRET]): Promise<Response> {
  const body = typeof what === 'string' ? what : JSON.stringify(what);
  const headers = { ...signWebhook(id, body, Date.now(), secrets) };
  return receiveWebhook(new Request('http://shop.test/api/receiver', { method: 'POST', headers, body }));
}

const found = (id: string) => database.client.receivedEvent.findUnique({ where: { id } });

test('each delivery is counted, by either way, and takes effect once', async () => {
  const goods = { sku: 'mug', quantity: 1, amountCents: 1800, status: 'pending', paymentMethod: 'x', source: 'api' };
  await database.client.order.create({ data: { ...ann, ...goods, id: ORDER } });
  for (let times = 1; times <= 2; times++) expect((await post('twice')).status).toBe(204);
  await receiver.receiveShopEvent('streams', { id: 'twice', ...paid });
  expect(await receiver.listReceived(ann, 9)).toEqual([
    {
      id: 'twice',
      type: 'order.paid',
      orderId: ORDER,
      sequence: 1,
      amountCents: 1800,
      webhooks: 2,
      streams: 1,
      effects: 1,
      firstAt: expect.any(Date),
    },
  ]);
  expect(await receiver.countReceived()).toEqual({ events: 1, deliveries: 3, effects: 1 });
});

test('what it got about an order is shown to whom it belongs, and to nobody else', async () => {
  await post('whose');
  await post('nobody', { ...paid, aggregate: 'order:of nobody', data: 'nothing of ours' });
  expect((await receiver.listReceived(ann, 9)).map(({ id }) => id)).toContain('whose');
  expect((await receiver.listReceived(ann, 9)).map(({ id }) => id)).not.toContain('nobody');
  expect(await receiver.listReceived({ ...ann, principal: 'eve' }, 9)).toEqual([]);
  expect(await receiver.listReceived(null, 9)).toEqual([]);
});

test.each([
  ['is signed by somebody else', 401, () => post('refused', paid, [`whsec_${Buffer.alloc(32, 2).toString('base64')}`])],
  ['is no JSON', 400, () => post('refused', 'no JSON')],
  ['is no event', 400, () => post('refused', { ...paid, sequence: 0 })],
  ['is too large', 413, () => post('refused', { ...paid, data: 'x'.repeat(300_000) })],
])('what %s is refused with %i, and counts for nothing', async (_, status, send) => {
  expect((await send()).status).toBe(status);
  expect(await found('refused')).toBeNull();
  expect(await database.client.inboxEvent.count({ where: { eventId: 'refused' } })).toBe(0);
});

test('without a secret nobody is believed', async () => {
  vi.stubEnv('EVENTS_WEBHOOK_SECRET', '');
  expect((await post('refused')).status).toBe(503);
  vi.stubEnv('EVENTS_WEBHOOK_SECRET', SECRET);
  expect(await found('refused')).toBeNull();
});

test('what cannot be processed is asked for again, until a person must look', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await database.client
    .$executeRaw`ALTER TABLE received_events ADD CONSTRAINT broken CHECK (id <> 'bad' OR effects = 0)`;
  const statuses: number[] = [];
  for (let times = 1; times <= 21; times++) {
    statuses.push((await post('bad')).status);
    // An attempt counts when it is due.
    await database.client
      .$executeRaw`UPDATE inbox_events SET next_attempt_at = clock_timestamp() - interval '1 s' WHERE state = 'failed'`;
  }
  expect(statuses).toEqual([...Array(19).fill(500), 204, 204]);
  expect(await found('bad')).toMatchObject({ webhooks: 21, effects: 0 });
  await database.client.$executeRaw`ALTER TABLE received_events DROP CONSTRAINT broken`;
  const { inbox } = await import('../inbox.ts');
  await inbox.requeue({ source: 'shop', eventId: 'bad' }, 'alice');
  expect((await post('bad')).status).toBe(204);
  expect(await found('bad')).toMatchObject({ webhooks: 22, effects: 1 });
});

test('what is too large to be kept is asked for also when it is a dead letter', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await database.client
    .$executeRaw`ALTER TABLE received_events ADD CONSTRAINT broken CHECK (id <> 'large' OR effects = 0)`;
  const send = () => post('large', { ...paid, data: 'x'.repeat(262_140) });
  expect((await send()).status).toBe(500);
  await database.client
    .$executeRaw`UPDATE inbox_events SET attempts = 19, next_attempt_at = clock_timestamp() - interval '1 s' WHERE event_id = 'large'`;
  for (let times = 1; times <= 2; times++) expect((await send()).status).toBe(500);
  const { inbox } = await import('../inbox.ts');
  const name = { source: 'shop', eventId: 'large' };
  expect(await inbox.find(name)).toMatchObject({ state: 'dead', payload: null });
  await database.client.$executeRaw`ALTER TABLE received_events DROP CONSTRAINT broken`;
  await inbox.requeue(name, 'alice');
  expect((await send()).status).toBe(204);
});

test('a database that goes away between two statements is 503, to be tried again', async () => {
  const { inbox } = await import('../inbox.ts');
  vi.spyOn(inbox, 'receiveOnce').mockRejectedValueOnce(new StoreUnavailableError('away'));
  const answer = await post('late');
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await post('late')).status).toBe(204);
  expect(await found('late')).toMatchObject({ webhooks: 2, effects: 1 });
});
