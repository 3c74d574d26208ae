import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, test, vi } from 'vitest';
import { bed, control, fault, ledger, pay, refusalOf, restart, useBed } from './testbed.ts';

useBed();

const DAY_MS = 24 * 60 * 60 * 1000;
const IN_USE = { statusCode: 409, code: 'idempotency_key_in_use', rawType: 'idempotency_error' };

describe('the same request under the same key', () => {
  test('is answered with the first answer, and says so', async () => {
    const first = await pay({ key: 'k' });
    const second = await pay({ key: 'k' });
    expect(second).toEqual(first);
    expect(first.lastResponse.headers['idempotent-replayed']).toBeUndefined();
    const { headers } = second.lastResponse;
    expect(headers).toMatchObject({ 'idempotent-replayed': 'true', 'original-request': first.lastResponse.requestId });
    expect((await ledger()).charges).toHaveLength(1);
  });

  test('is declined again, without another attempt', async () => {
    const card = 'pm_card_chargeDeclined';
    const first = await refusalOf(pay({ key: 'k', card }));
    const second = await refusalOf(pay({ key: 'k', card }));
    expect(second).toMatchObject({ statusCode: 402, charge: first.charge, headers: { 'idempotent-replayed': 'true' } });
    expect((await bed.stripe.paymentIntents.list()).data).toHaveLength(1);
  });

  test('is refused again by a state that has changed since', async () => {
    const { id: payment_intent } = await pay({ amount: 100 });
    const refund = (amount: number) =>
      bed.stripe.refunds.create({ payment_intent, amount }, { idempotencyKey: `refund-${amount}` });
    const first = await refusalOf(refund(200));
    await refund(100);
    expect((await refusalOf(refund(200))).message).toBe(first.message);
  });

  test('waits while the first is under way', async () => {
    await fault({ kind: 'latency', ms: 2000 });
    const first = pay({ key: 'k' });
    await vi.waitFor(async () => expect((await ledger()).charges).toHaveLength(1));
    const second = await refusalOf(pay({ key: 'k' }));
    expect(second).toMatchObject(IN_USE);
    expect(second.message).toContain(': k.');
    expect((await pay({ key: 'k2' })).status).toBe('succeeded');
    const { id } = await first;
    expect((await pay({ key: 'k' })).id).toBe(id);
    expect((await ledger()).charges).toHaveLength(2);
  });
});

describe('another request under the same key is refused:', () => {
  test.each([{ amount: 2001 }, { order: 'o2' }, { card: 'pm_card_chargeDeclined' }])('%j', async (other) => {
    await pay({ key: 'k' });
    const error = await refusalOf(pay({ key: 'k', ...other }));
    expect(error).toMatchObject({ statusCode: 400, rawType: 'idempotency_error', code: 'idempotency_error' });
    expect(error.message).toBe(
      'Keys for idempotent requests can only be used with the same parameters they were first used with. ' +
        "Try using a key other than 'k' if you meant to execute a different request.",
    );
    expect((await ledger()).charges).toHaveLength(1);
  });

  test('another path', async () => {
    const { id: payment_intent } = await pay({ key: 'k' });
    const error = await refusalOf(bed.stripe.refunds.create({ payment_intent }, { idempotencyKey: 'k' }));
    expect(error).toMatchObject({ statusCode: 400, rawType: 'idempotency_error' });
    expect(error.message).toContain("('/v1/refunds' vs '/v1/payment_intents')");
    expect((await ledger()).refunds).toEqual([]);
  });
});

test('what failed validation may be corrected under its key', async () => {
  await refusalOf(pay({ key: 'k', amount: 0 }));
  await refusalOf(pay({ key: 'k', card: 'pm_none' }));
  expect((await pay({ key: 'k' })).status).toBe('succeeded');
});

test('the order of the parameters is no difference', async () => {
  const send = async (body: string) => {
    const headers = { authorization: 'Bearer sk_test_x', 'idempotency-key': 'k' };
    const out = request(`${bed.gateway.url}/v1/payment_intents`, { method: 'POST', headers }).end(body);
    const [res] = await once(out, 'response');
    return [res.resume().statusCode, res.headers['idempotent-replayed']];
  };
  expect(await send('amount=5&currency=usd')).toEqual([200, undefined]);
  expect(await send('currency=usd&amount=5')).toEqual([200, 'true']);
});

describe('a key is forgotten', () => {
  test('after a day, also across a restart', async () => {
    const first = await pay({ key: 'k' });
    bed.laterMs = DAY_MS - 60_000;
    await restart();
    expect((await pay({ key: 'k' })).id).toBe(first.id);
    bed.laterMs = DAY_MS + 60_000;
    expect((await pay({ key: 'k' })).id).not.toBe(first.id);
  });

  test('on demand, one or all, also across a restart', async () => {
    const [a, b] = [await pay({ key: 'a' }), await pay({ key: 'b' })];
    expect(await control('/_keys/forget', 'POST', { key: 'a' })).toEqual({ status: 200, body: { forgotten: 1 } });
    expect((await pay({ key: 'b' })).id).toBe(b.id);
    await restart();
    expect((await pay({ key: 'a' })).id).not.toBe(a.id);
    expect((await control('/_keys/forget', 'POST')).body).toEqual({ forgotten: 2 });
    expect((await pay({ key: 'b' })).id).not.toBe(b.id);
    expect((await ledger()).charges.map((charge: { idempotency_key: string }) => charge.idempotency_key)).toEqual([
      'a',
      'b',
      'a',
      'b',
    ]);
  });
});

describe('a provider of another kind', () => {
  test('without keys charges each time', async () => {
    const first = await pay({ key: 'k' });
    expect((await control('/_settings', 'POST', { honours_keys: false })).status).toBe(200);
    expect((await pay({ key: 'k' })).id).not.toBe(first.id);
    expect((await pay({ key: 'k', amount: 1 })).amount).toBe(1);
    await control('/_settings', 'DELETE');
    expect((await pay({ key: 'k' })).id).toBe(first.id);
    expect((await ledger()).charges).toHaveLength(3);
  });

  test('without search knows payments by their id alone', async () => {
    const { id } = await pay();
    await control('/_settings', 'POST', { searchable: false });
    const unknown = { statusCode: 404, message: expect.stringMatching(/^Unrecognized request URL/) };
    expect(await refusalOf(bed.stripe.paymentIntents.list())).toMatchObject(unknown);
    expect(await refusalOf(bed.stripe.paymentIntents.search({ query: "status:'succeeded'" }))).toMatchObject(unknown);
    expect((await bed.stripe.paymentIntents.retrieve(id)).id).toBe(id);
    await control('/_settings', 'DELETE');
    expect((await bed.stripe.paymentIntents.list()).data).toHaveLength(1);
  });

  test('is not asked for by a typo', async () => {
    const { status, body } = await control('/_settings', 'POST', { honors_keys: false });
    expect([status, body.error]).toEqual([400, expect.stringContaining('honours_keys')]);
  });
});
