import { randomUUID } from 'node:crypto';
import { Api, LONDON, MUG } from './fixtures/api-client.ts';
import { Described } from './fixtures/api-described.ts';
import { expect, test } from './fixtures/test.ts';

// Every answer that `Api` gets is held to /api/openapi.json; so are those of the other tests of the API.

test('every kind of answer is as described', async ({ request, app, db }) => {
  const api = await Api.open(request);
  const key = randomUUID;
  const { body: order } = await api.create({ key: key() });
  const used = key();
  await api.create({ key: used });
  const fenced = key();

  await api.send('GET', '/api/products', { token: '' });
  await api.create({});
  await api.create({ key: 'a,b' });
  await api.create({ key: key(), token: 'nobody' });
  await api.create({ key: key(), body: { ...MUG, quantity: '1' } });
  await api.create({ key: key(), body: '{' });
  await api.create({ key: key(), body: JSON.stringify({ ...MUG, more: 'x'.repeat(1_100_000) }) });
  await api.create({ key: key(), headers: { 'Content-Type': 'text/csv' } });
  await api.create({ key: used, body: { ...MUG, quantity: 2 } });
  await api.create({ key: key(), body: { ...MUG, payment_method: 'pm_card_chargeDeclined' } });
  await api.create({ key: key(), body: { ...MUG, sku: 'nothing' } });
  await api.create({ key: key(), body: { ...MUG, sku: 'lamp', quantity: 100 } });

  const path = (of: string, operation = 'orders.create') => `/api/idempotency/${operation}/${of}`;
  await api.send('GET', path(used));
  await api.send('GET', path(key()));
  await api.send('GET', path(used, 'nothing'));
  await api.send('GET', path(used), { token: 'nobody' });
  await api.send('DELETE', path(used));
  await api.send('DELETE', path(fenced));
  await api.create({ key: fenced });

  const letGo = await app.holdAt('after-started');
  const running = key();
  const first = api.create({ key: running });
  await expect.poll(() => db.idempotencyKey.count({ where: { key: running } })).toBe(1);
  await api.create({ key: running });
  await api.send('GET', path(running));
  const paying = await db.order.findFirstOrThrow({ where: { idempotencyKey: running } });
  await api.refund(paying.id, 100, { key: key() });
  await letGo();
  await first;

  const any = { 'If-Match': '*' };
  const { headers } = await api.get(order.id);
  await api.get(order.id, { headers: { 'If-None-Match': String(headers.etag) } });
  await api.get(order.id, { token: '' });
  await api.get(key());
  await api.put(order.id, {});
  await api.put(order.id, { headers: { 'If-Match': '"other"' } });
  await api.put(order.id, { headers: any, body: { ...LONDON, city: '' } });
  await api.put(order.id, { headers: any, body: '{' });
  await api.put(order.id, { headers: any, body: JSON.stringify('x'.repeat(1_100_000)) });
  await api.put(order.id, { headers: { ...any, 'Content-Type': 'text/csv' } });
  await api.put(order.id, { headers: any });
  await api.cancel(key());
  await api.cancel(order.id);
  await api.cancel(order.id, { headers: { 'If-Match': '"other"' } });

  await api.refund(order.id, 100, { key: key() });
  await api.refund(order.id, 9999, { key: key() });
  await api.refund(order.id, 0, { key: key() });
  await api.refund(key(), 100, { key: key() });
  const failed = await db.order.findFirstOrThrow({ where: { status: 'payment_failed' } });
  await api.refund(failed.id, 100, { key: key() });

  // Met, and not only tried: a case above that is answered otherwise shows here.
  expect([...api.met].sort()).toEqual(
    [
      'DELETE 200',
      'DELETE 204',
      'DELETE 409',
      'DELETE 409 not_cancellable',
      'DELETE 412 precondition_failed',
      'GET 200',
      'GET 304',
      'GET 401 unauthorized',
      'GET 404 not_found',
      'POST 201',
      'POST 400 key_malformed',
      'POST 400 key_missing',
      'POST 400 malformed_body',
      'POST 400 validation',
      'POST 401 unauthorized',
      'POST 402 card_declined',
      'POST 404 not_for_sale',
      'POST 404 order_not_found',
      'POST 409 in_flight',
      'POST 409 not_paid',
      'POST 409 out_of_stock',
      'POST 409 payment_unknown',
      'POST 410 key_abandoned',
      'POST 413 payload_too_large',
      'POST 415 unsupported_media_type',
      'POST 422 exceeds_payment',
      'POST 422 payload_mismatch',
      'PUT 200',
      'PUT 400 malformed_body',
      'PUT 400 validation',
      'PUT 412 precondition_failed',
      'PUT 413 payload_too_large',
      'PUT 415 unsupported_media_type',
      'PUT 428 precondition_required',
    ].sort(),
  );
});

test('an answer that is not as described is noticed', async ({ request }) => {
  const described = new Described(await (await request.get('/api/openapi.json')).json());
  const order = {
    id: randomUUID(),
    sku: 'mug',
    quantity: 1,
    amount_cents: 1800,
    refunded_cents: 0,
    status: 'paid',
    address: null,
  };
  const path = `/api/orders/${order.id}`;
  const answer = { status: 200, headers: { 'content-type': 'application/json', etag: '"a"' }, body: order };
  const complaints = (changed: object) => described.complaints('GET', path, { ...answer, ...changed }).length;
  expect(complaints({})).toBe(0);
  expect(complaints({ body: { ...order, amount_cents: '1800' } })).toBe(1);
  expect(complaints({ body: { ...order, status: 'lost' } })).toBe(1);
  expect(complaints({ body: { ...order, id: 'x' } })).toBeGreaterThan(0);
  expect(complaints({ body: { ...order, address: undefined } })).toBe(1);
  expect(complaints({ status: 418 })).toBe(1);
  expect(complaints({ headers: { 'content-type': 'application/json' } })).toBe(1);
  expect(complaints({ headers: { ...answer.headers, etag: 'a' } })).toBe(1);
  expect(complaints({ headers: { ...answer.headers, 'content-type': 'text/html' } })).toBe(1);
});
