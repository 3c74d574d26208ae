import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { openApi } from './api.fixture.ts';

let api: Awaited<ReturnType<typeof openApi>>;
let shop: Awaited<ReturnType<typeof openApi>>['shop'];
beforeAll(async () => {
  api = await openApi();
  shop = api.shop;
});
afterAll(() => shop?.close());

const LONDON = { line1: '1 Engine Way', city: 'London', postal_code: 'N1', country: 'United Kingdom' };
const PARIS = { line1: '2 Rue des Machines', city: 'Paris', postal_code: '75001', country: 'France' };

describe('PUT /api/orders/{id}/address', () => {
  test('needs the version that was seen; the same PUT again comes to the same state', async () => {
    const { body: order, headers } = await api.created();
    const seen = String(headers.get('etag'));
    expect(await api.put(order.id, { body: LONDON })).toMatchObject({
      status: 428,
      body: { code: 'precondition_required' },
    });
    const put = await api.put(order.id, { body: LONDON, headers: { 'If-Match': seen } });
    expect(put).toMatchObject({ status: 200, body: { ...order, address: LONDON } });
    for (const stale of [seen, `W/${put.headers.get('etag')}`, '"other"', 'bare']) {
      const refused = await api.put(order.id, { body: PARIS, headers: { 'If-Match': stale } });
      expect({ stale, ...refused }).toMatchObject({ stale, status: 412, body: { code: 'precondition_failed' } });
    }
    const again = await api.put(order.id, { body: LONDON, headers: { 'If-Match': String(put.headers.get('etag')) } });
    expect(again).toMatchObject({ status: 200, body: put.body });
    expect(again.headers.get('etag')).toBe(put.headers.get('etag'));
    expect((await api.get(order.id)).headers.get('etag')).toBe(put.headers.get('etag'));
    // The answer to the first was lost, so it comes with the ETag that it knows: it finds what it wants.
    const lost = await api.put(order.id, { body: LONDON, headers: { 'If-Match': seen } });
    expect(lost).toMatchObject({ status: 200, body: put.body });
    expect(await api.put(order.id, { body: PARIS, headers: { 'If-Match': '*' } })).toMatchObject({
      status: 200,
      body: { address: PARIS },
    });
  });

  test('two at once with one ETag: one is made, the other refused', async () => {
    const { body: order, headers } = await api.created();
    const ifMatch = { 'If-Match': String(headers.get('etag')) };
    // Both have sent their first statement before either may go on: neither can win by being early.
    const holder = await shop.connect();
    const watcher = await shop.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [order.id]);
    const puts = Promise.all([LONDON, PARIS].map((body) => api.put(order.id, { body, headers: ifMatch })));
    await shop.untilWaiting(watcher, 2);
    await holder.query('ROLLBACK');
    const answers = await puts;
    await Promise.all([holder.end(), watcher.end()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const made = answers.find(({ status }) => status === 200);
    expect((await api.get(order.id)).body).toEqual(made?.body);
  });

  test.each([
    ['no city', JSON.stringify({ ...LONDON, city: ' ' }), 400, 'validation'],
    ['NUL', JSON.stringify({ ...LONDON, city: 'a\0' }), 400, 'validation'],
    ['no object', '[]', 400, 'validation'],
    ['no JSON', '{', 400, 'malformed_body'],
    ['too much', JSON.stringify({ ...LONDON, more: 'x'.repeat(1_100_000) }), 413, 'payload_too_large'],
  ])('%s: refused', async (_, body, status, code) => {
    const { body: order } = await api.created();
    const refused = await api.put(order.id, { body, headers: { 'If-Match': '*' } });
    expect(refused).toMatchObject({ status, body: { code } });
    if (code === 'validation') expect(Object.keys(refused.body.fieldErrors)).not.toHaveLength(0);
    expect((await api.get(order.id)).body.address).toBeNull();
  });

  test("a form is not accepted; another's order is none", async () => {
    const { body: order } = await api.created();
    const headers = { 'If-Match': '*' };
    expect(
      await api.put(order.id, { body: 'line1=x', headers: { ...headers, 'Content-Type': 'text/plain' } }),
    ).toMatchObject({ status: 415 });
    expect(await api.put(order.id, { body: LONDON, headers, token: 'demo-bob' })).toMatchObject({ status: 404 });
    expect(await api.put('no-uuid', { body: LONDON, headers })).toMatchObject({ status: 404 });
  });
});

describe('DELETE /api/orders/{id}', () => {
  test('cancels; goods go back once, whatever the number of requests', async () => {
    const before = await shop.stock('mug');
    const id = await api.unpaid();
    const answers = await Promise.all(Array.from({ length: 5 }, () => api.cancel(id)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
    expect(await shop.order(id)).toMatchObject({ status: 'cancelled' });
    expect(await shop.stock('mug')).toBe(before);
    expectCounted(await shop.client.auditRecord.count({ where: { orderId: id, action: 'order.cancelled' } })).toBe(1);
  });

  test("of what is absent, never paid or another's is 204, and changes nothing", async () => {
    const failed = await api.unpaid('payment_failed');
    const others = await api.unpaid();
    const before = await shop.stock('mug');
    expect(await api.cancel(randomUUID())).toMatchObject({ status: 204 });
    expect(await api.cancel('no-uuid')).toMatchObject({ status: 204 });
    expect(await api.cancel(failed)).toMatchObject({ status: 204 });
    expect(await api.cancel(others, { token: 'demo-bob' })).toMatchObject({ status: 204 });
    expect(await shop.order(others)).toMatchObject({ status: 'pending' });
    expect(await shop.stock('mug')).toBe(before);
  });

  test('of what is paid or being paid is refused, in words', async () => {
    const { body } = await api.created();
    for (const [id, status] of [
      [body.id, 'paid'],
      [await api.unpaid('paying'), 'paying'],
    ]) {
      expect(await api.cancel(String(id))).toMatchObject({
        status: 409,
        body: { code: 'failed', reason: 'not_cancellable', data: { status }, detail: expect.stringContaining('paid') },
      });
      expect(await shop.order(String(id))).toMatchObject({ status });
    }
  });

  test('with a stale If-Match it is refused', async () => {
    const id = await api.unpaid();
    expect(await api.cancel(id, { headers: { 'If-Match': '"other"' } })).toMatchObject({ status: 412 });
    const { headers } = await api.get(id);
    const ifMatch = { 'If-Match': String(headers.get('etag')) };
    expect(await api.cancel(id, { headers: ifMatch })).toMatchObject({ status: 204 });
    expect(await api.cancel(id, { headers: ifMatch })).toMatchObject({ status: 204 });
  });
});

describe('POST /api/orders/{id}/refunds', () => {
  test('part of it, then no more than is left', async () => {
    const { body: order } = await api.created();
    const key = randomUUID();
    const body = { amount_cents: 1500 };
    const first = await api.refund(order.id, { key, body });
    expect(first).toMatchObject({
      status: 201,
      body: { order_id: order.id, amount_cents: 1500, status: 'succeeded', order_status: 'partially_refunded' },
    });
    expect(await api.refund(order.id, { key, body })).toMatchObject({ status: 201, body: first.body });
    const tooMuch = await api.refund(order.id, { key: randomUUID(), body: { amount_cents: 2101 } });
    expect(tooMuch).toMatchObject({
      status: 422,
      body: { code: 'failed', reason: 'exceeds_payment', data: { refundable_cents: 2100 } },
    });
    expect((await shop.moved(order.id)).refunds).toHaveLength(1);
    expect((await shop.order(order.id)).refunds).toMatchObject([{ source: 'api', idempotencyKey: key }]);
  });

  test('one key on two orders is a mismatch; the body cannot name another order', async () => {
    const [one, two] = await Promise.all([api.created(), api.created()]);
    const key = randomUUID();
    const body = { amount_cents: 100, order_id: two.body.id };
    expect(await api.refund(one.body.id, { key, body })).toMatchObject({
      status: 201,
      body: { order_id: one.body.id },
    });
    expect(await api.refund(two.body.id, { key, body })).toMatchObject({
      status: 422,
      body: { code: 'payload_mismatch' },
    });
  });

  test("another's order, and what cannot be one, are not found; a broken amount is refused", async () => {
    const { body: order } = await api.created();
    const body = { amount_cents: 100 };
    const notFound = { status: 404, body: { reason: 'order_not_found' } };
    expect(await api.refund(order.id, { key: randomUUID(), body, token: 'demo-bob' })).toMatchObject(notFound);
    expect(await api.refund('no-uuid', { key: randomUUID(), body })).toMatchObject(notFound);
    for (const amount_cents of [0, -1, 1.5, '100', null]) {
      const refused = await api.refund(order.id, { key: randomUUID(), body: { amount_cents } });
      expect(refused).toMatchObject({ status: 400, body: { fieldErrors: { amount_cents: [expect.any(String)] } } });
    }
  });

  test('one key under the form and under the API is two refunds, and undoing one leaves the other', async () => {
    const { body: order } = await api.created();
    const key = randomUUID();
    const id = randomUUID();
    const pending = { id, orderId: order.id, ...api.alice, amountCents: 100, status: 'pending', idempotencyKey: key };
    await shop.client.refund.create({ data: { ...pending, source: 'form' } });
    // Refused before it has a refund of its own: there is nothing of the API's to undo.
    const refused = await api.refund(order.id, { key, body: { amount_cents: 999_999 } });
    expect(refused).toMatchObject({ status: 422, body: { reason: 'exceeds_payment' } });
    expect(await shop.client.refund.findUniqueOrThrow({ where: { id } })).toMatchObject({ status: 'pending' });
  });
});
