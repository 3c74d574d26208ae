import { randomUUID } from 'node:crypto';
import type { Client } from '../shop/db.ts';
import { Api, LONDON, MUG } from './fixtures/api-client.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { test as base, expect } from './fixtures/test.ts';

const test = base.extend<{ api: Api }>({ api: async ({ request }, use) => use(await Api.open(request)) });

const stockOf = async (db: Client) => (await db.product.findUniqueOrThrow({ where: { sku: 'mug' } })).stock;

/** An order of Alice's that nobody has paid, with one mug out of stock for it. */
async function unpaid(db: Client, status = 'pending'): Promise<string> {
  const id = randomUUID();
  const whose = { tenant: 'demo', principal: 'alice', source: 'api', paymentMethod: 'pm_card_visa' };
  await db.product.update({ where: { sku: 'mug' }, data: { stock: { decrement: 1 } } });
  await db.order.create({ data: { id, ...whose, sku: 'mug', quantity: 1, amountCents: 1800, status } });
  return id;
}

test('an order is placed and paid once; a retry gets the same answer', async ({ api, db, gateway }) => {
  const before = await stockOf(db);
  const key = randomUUID();
  const first = await api.create({ key });
  expect(first).toMatchObject({ status: 201, body: { sku: 'mug', quantity: 1, amount_cents: 1800, status: 'paid' } });
  expect(first.headers).toMatchObject({ location: `/api/orders/${first.body.id}`, 'idempotency-status': 'stored' });
  const hours = (Date.parse(String(first.headers['idempotency-key-expires'])) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(71.9);
  expect(hours).toBeLessThan(72.1);

  const again = await api.create({ key: `"${key}"` });
  expect(again).toMatchObject({ status: 201, body: first.body });
  const { headers } = again;
  expect(headers['idempotency-status']).toBe('replayed');
  for (const name of ['location', 'etag', 'content-type', 'idempotency-key-expires']) {
    expect(headers[name]).toBe(first.headers[name]);
  }
  expect(await stockOf(db)).toBe(before - 1);
  const ledger = await fetch(`${gateway.url}/_ledger?order_id=${first.body.id}`);
  expectCounted((await ledger.json()).charges).toHaveLength(1);
});

test('ten at once under one key are one order', async ({ api, db }) => {
  const key = randomUUID();
  const answers = await Promise.all(Array.from({ length: 10 }, () => api.create({ key })));
  const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
  expect(ids.size).toBe(1);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  expectCounted(await db.order.count({ where: { idempotencyKey: key } })).toBe(1);
});

test('the answer to an order is lost: the retry gets it', async ({ api, db, network }) => {
  await network.break({ kind: 'lose-answer', match: { method: 'POST', path: '/api/orders' } });
  const key = randomUUID();
  await expect(api.create({ key })).rejects.toThrow(/hang up|ECONNRESET|socket/i);
  await expect.poll(() => db.order.count({ where: { idempotencyKey: key, status: 'paid' } })).toBe(1);
  const retried = await api.create({ key });
  expect(retried).toMatchObject({ status: 201, headers: { 'idempotency-status': 'replayed' } });
  expectCounted(await db.order.count({ where: { idempotencyKey: key } })).toBe(1);
});

test('a declined card is a stored refusal, and the goods are back', async ({ api, db }) => {
  const before = await stockOf(db);
  const sent = { key: randomUUID(), body: { ...MUG, payment_method: 'pm_card_chargeDeclined' } };
  const first = await api.create(sent);
  expect(first).toMatchObject({ status: 402, body: { code: 'failed', reason: 'card_declined', retry: 'new-key' } });
  const again = await api.create(sent);
  expect(again).toMatchObject({ status: 402, body: first.body, headers: { 'idempotency-status': 'replayed' } });
  expect(await stockOf(db)).toBe(before);
});

test('one key with another order is a mismatch, and nothing of the first answer leaks', async ({ api }) => {
  const key = randomUUID();
  const { body } = await api.create({ key });
  const other = await api.create({ key, body: { ...MUG, quantity: 2 } });
  expect(other).toMatchObject({ status: 422, body: { code: 'payload_mismatch' } });
  expect(JSON.stringify(other)).not.toContain(body.id);
});

test("another's key and order are as if they were not there", async ({ api }) => {
  const key = randomUUID();
  const alices = await api.create({ key });
  const bobs = await api.create({ key, token: 'demo-bob' });
  expect(bobs).toMatchObject({ status: 201, headers: { 'idempotency-status': 'stored' } });
  expect(bobs.body.id).not.toBe(alices.body.id);
  const asBob = { token: 'demo-bob' };
  const { id } = alices.body;
  expect(await api.get(id, asBob)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect(await api.put(id, { ...asBob, headers: { 'If-Match': '*' } })).toMatchObject({ status: 404 });
  expect(await api.refund(id, 100, { ...asBob, key: randomUUID() })).toMatchObject({
    status: 404,
    body: { reason: 'order_not_found' },
  });
  expect(await api.cancel(id, asBob)).toMatchObject({ status: 204 });
  expect((await api.get(id)).body).toEqual(alices.body);
});

test('a part is given back, once; more than was paid is not', async ({ api, gateway }) => {
  const { body: order } = await api.create({ key: randomUUID() });
  const key = randomUUID();
  const first = await api.refund(order.id, 800, { key });
  expect(first).toMatchObject({ status: 201, body: { amount_cents: 800, order_status: 'partially_refunded' } });
  expect(await api.refund(order.id, 800, { key })).toMatchObject({ status: 201, body: first.body });
  expect(await api.refund(order.id, 1001, { key: randomUUID() })).toMatchObject({
    status: 422,
    body: { code: 'failed', reason: 'exceeds_payment', data: { refundable_cents: 1000 } },
  });
  const rest = await api.refund(order.id, 1000, { key: randomUUID() });
  expect(rest).toMatchObject({ status: 201, body: { order_status: 'refunded' } });
  expect((await api.get(order.id)).body).toMatchObject({ status: 'refunded', refunded_cents: 1800 });
  const ledger = await fetch(`${gateway.url}/_ledger?order_id=${order.id}`);
  expectCounted((await ledger.json()).refunds.map(({ amount }: { amount: number }) => amount).sort()).toEqual([
    1000, 800,
  ]);
});

test('an address is changed by who has seen the order as it is', async ({ api }) => {
  const { body: order, headers } = await api.create({ key: randomUUID() });
  const seen = { 'If-Match': String(headers.etag) };
  expect(await api.put(order.id, {})).toMatchObject({ status: 428, body: { code: 'precondition_required' } });
  const put = await api.put(order.id, { headers: seen });
  expect(put).toMatchObject({ status: 200, body: { address: LONDON } });
  const elsewhere = { ...LONDON, city: 'Bath' };
  expect(await api.put(order.id, { body: elsewhere, headers: seen })).toMatchObject({
    status: 412,
    body: { code: 'precondition_failed' },
  });
  // The same again, by whoever has had the answer and by whoever has lost it.
  for (const headers of [{ 'If-Match': String(put.headers.etag) }, seen]) {
    const again = await api.put(order.id, { headers });
    expect(again).toMatchObject({ status: 200, body: put.body, headers: { etag: put.headers.etag } });
  }
});

test('of changes that begin with one ETag, one is made', async ({ api }) => {
  const { body: order, headers } = await api.create({ key: randomUUID() });
  const seen = { 'If-Match': String(headers.etag) };
  const cities = ['Bath', 'Leeds', 'York', 'Hull', 'Ely'];
  const answers = await Promise.all(
    cities.map((city) => api.put(order.id, { body: { ...LONDON, city }, headers: seen })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412]);
  const made = answers.find(({ status }) => status === 200);
  expect((await api.get(order.id)).body).toEqual(made?.body);
});

test('what is not paid is cancelled, again and again; what is paid, or being paid, is not', async ({ api, db }) => {
  const before = await stockOf(db);
  const id = await unpaid(db);
  for (const _ of [1, 2]) expect(await api.cancel(id)).toMatchObject({ status: 204 });
  expect(await stockOf(db)).toBe(before);
  expect((await api.get(id)).body).toMatchObject({ status: 'cancelled' });
  expect(await api.cancel(randomUUID())).toMatchObject({ status: 204 });
  const { body: paid } = await api.create({ key: randomUUID() });
  for (const [order, status] of [
    [paid.id, 'paid'],
    [await unpaid(db, 'paying'), 'paying'],
  ]) {
    expect(await api.cancel(order)).toMatchObject({
      status: 409,
      body: { code: 'failed', reason: 'not_cancellable', data: { status } },
    });
  }
});

test('an order that has not changed is not sent again', async ({ api }) => {
  const { body: order, headers } = await api.create({ key: randomUUID() });
  const known = { headers: { 'If-None-Match': String(headers.etag) } };
  expect(await api.get(order.id, known)).toMatchObject({ status: 304, body: undefined });
  await api.put(order.id, { headers: { 'If-Match': '*' } });
  expect(await api.get(order.id, known)).toMatchObject({ status: 200, body: { address: LONDON } });
});

test('the page of a refusal is there, and at the address by which the client came', async ({
  api,
  request,
  baseURL,
}) => {
  const { body } = await api.get(randomUUID());
  expect(body.type).toBe(`${baseURL}/docs/errors/not_found`);
  const page = await request.get(body.type);
  expect(page.status()).toBe(200);
});
