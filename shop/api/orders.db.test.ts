import { randomUUID } from 'node:crypto';
import { createIdempotency } from 'oncekit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { openApi } from './api.fixture.ts';
import { newOrder } from './schemas.ts';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from './windows.ts';

let api: Awaited<ReturnType<typeof openApi>>;
let shop: Awaited<ReturnType<typeof openApi>>['shop'];
beforeAll(async () => {
  api = await openApi();
  shop = api.shop;
});
afterAll(() => shop?.close());

const HOUR_MS = 3_600_000;

describe('POST /api/orders', () => {
  test('sells and charges once; a replay has the same status, body and headers', async () => {
    const before = await shop.stock('mug');
    const key = randomUUID();
    const first = await api.create({ key });
    expect(first).toMatchObject({
      status: 201,
      body: { sku: 'mug', quantity: 2, amount_cents: 3600, refunded_cents: 0, status: 'paid', address: null },
    });
    const { id } = first.body;
    expect(first.headers.get('location')).toBe(`/api/orders/${id}`);
    expect(first.headers.get('idempotency-status')).toBe('stored');
    const again = await api.create({ key });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-status')).toBe('replayed');
    for (const name of ['location', 'etag', 'content-type', 'idempotency-key-expires']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
    expectCounted((await shop.moved(id)).charges).toHaveLength(1);
    expect(await shop.stock('mug')).toBe(before - 2);
    expect(await shop.order(id)).toMatchObject({ source: 'api', ...api.alice, idempotencyKey: key });
  });

  test('its ETag is the one that a GET shows', async () => {
    const { headers, body } = await api.created();
    const shown = await api.get(body.id);
    expect(shown.body).toEqual(body);
    expect(shown.headers.get('etag')).toBe(headers.get('etag'));
    expect(shown.headers.get('etag')).toMatch(/^"[\w-]+"$/);
  });

  test('a declined card gives the goods back; the refusal is stored', async () => {
    const before = await shop.stock('mug');
    const key = randomUUID();
    const body = { ...api.MUG, payment_method: 'pm_card_chargeDeclined' };
    const first = await api.create({ key, body });
    expect(first).toMatchObject({ status: 402, body: { code: 'failed', reason: 'card_declined' } });
    const again = await api.create({ key, body });
    expect(again).toMatchObject({ status: 402, body: first.body });
    expect(again.headers.get('idempotency-status')).toBe('replayed');
    expect(await shop.stock('mug')).toBe(before);
    const order = await shop.client.order.findFirstOrThrow({ where: { idempotencyKey: key } });
    expect(order).toMatchObject({ status: 'payment_failed', source: 'api' });
  });

  test.each([
    ['no key', { key: '' }, 400, 'key_missing'],
    ['nobody', { token: 'nobody' }, 401, 'unauthorized'],
    ['a quantity as text', { body: { sku: 'mug', quantity: '2', payment_method: 'pm_card_visa' } }, 400, 'validation'],
    ['half a mug', { body: { sku: 'mug', quantity: 0.5, payment_method: 'pm_card_visa' } }, 400, 'validation'],
    ['no mug', { body: { sku: 'mug', quantity: 0, payment_method: 'pm_card_visa' } }, 400, 'validation'],
    ['101 mugs', { body: { sku: 'mug', quantity: 101, payment_method: 'pm_card_visa' } }, 400, 'validation'],
    ['NUL', { body: { sku: 'mug\0', quantity: 1, payment_method: 'pm_card_visa' } }, 400, 'validation'],
  ])('%s: refused, and nothing is sold', async (_, sent, status, code) => {
    const before = await shop.stock('mug');
    expect(await api.create({ key: randomUUID(), ...sent })).toMatchObject({ status, body: { code } });
    expect(await shop.stock('mug')).toBe(before);
  });

  test('what is not sold is 404, what is sold out 409; both stored', async () => {
    const nothing = { ...api.MUG, sku: 'nothing' };
    expect(await api.create({ key: randomUUID(), body: nothing })).toMatchObject({
      status: 404,
      body: { code: 'failed', reason: 'not_for_sale' },
    });
    const lamps = { ...api.MUG, sku: 'lamp', quantity: 100 };
    expect(await api.create({ key: randomUUID(), body: lamps })).toMatchObject({
      status: 409,
      body: { code: 'failed', reason: 'out_of_stock' },
    });
  });

  test('the published window and retention are those that hold', async () => {
    const key = randomUUID();
    const { headers } = await api.create({ key });
    const { claimedAt, expiresAt } = await shop.client.idempotencyKey.findFirstOrThrow({ where: { key } });
    expect(expiresAt.getTime() - claimedAt.getTime()).toBe(ANSWER_KEPT_HOURS * HOUR_MS);
    expect(Math.abs(Date.parse(String(headers.get('idempotency-key-expires'))) - expiresAt.getTime())).toBeLessThan(
      1000,
    );

    const mintedBefore = (ms: number) =>
      createIdempotency({
        prisma: shop.client,
        secret: [process.env.IDEMPOTENCY_SECRET],
        scope: () => api.alice,
        clock: () => Date.now() - ms,
      })
        .operation({ name: 'orders.create', schema: newOrder })
        .handler(async () => null)
        .mintKey();
    const window = KEY_WINDOW_HOURS * HOUR_MS;
    expect(await api.create({ key: String(await mintedBefore(window + 60_000)) })).toMatchObject({ status: 410 });
    expect(await api.create({ key: String(await mintedBefore(window - 60_000)) })).toMatchObject({ status: 201 });
  });
});

describe('GET /api/orders/{id}', () => {
  test('304 for what the client has, weakly compared; 200 when it has changed', async () => {
    const { body, headers } = await api.created();
    const etag = String(headers.get('etag'));
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, headers } = await api.get(body.id, { headers: { 'If-None-Match': known } });
      expect({ known, status, etag: headers.get('etag') }).toEqual({ known, status: 304, etag });
    }
    await api.refund(body.id, { key: randomUUID(), body: { amount_cents: 100 } });
    const changed = await api.get(body.id, { headers: { 'If-None-Match': etag } });
    expect(changed).toMatchObject({ status: 200, body: { refunded_cents: 100, status: 'partially_refunded' } });
    expect(changed.headers.get('etag')).not.toBe(etag);
    expect(changed.headers.get('cache-control')).toBe('private, no-cache');
  });

  test("another's is as absent as none; nobody is asked for a token", async () => {
    const { body } = await api.created();
    const answers = await Promise.all(
      [body.id, randomUUID(), 'no-uuid'].map(async (id) => {
        const { status, body } = await api.get(id, { token: 'demo-bob' });
        return { status, ...body, instance: '' };
      }),
    );
    expect(answers[0]).toMatchObject({ status: 404, code: 'not_found' });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    const nobody = await api.get(body.id, { token: '' });
    expect(nobody).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
    expect(nobody.headers.get('www-authenticate')).toBe('Bearer');
  });
});
