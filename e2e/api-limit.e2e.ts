import { randomUUID } from 'node:crypto';
import { Api } from './fixtures/api-client.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

// Long: the test must not outlast it.
test.use({ appEnv: { DEMO_ORDER_LIMIT: '3/600' } });

test('when the limit is spent, new orders wait and replays pass', async ({ request, db }) => {
  const api = await Api.open(request);
  const keys = [randomUUID(), randomUUID(), randomUUID()];
  const bodies = [];
  for (const key of keys) bodies.push((await api.create({ key })).body);
  const key = randomUUID();
  const limited = await api.create({ key });
  expect(limited).toMatchObject({ status: 429, body: { code: 'rate_limited', retry: 'same-key' } });
  expect(Number(limited.headers['retry-after'])).toBeGreaterThan(500);
  for (const [n, key] of keys.entries()) {
    expect(await api.create({ key })).toMatchObject({
      status: 201,
      body: bodies[n],
      headers: { 'idempotency-status': 'replayed' },
    });
  }
  expect(await api.create({ key: randomUUID(), token: 'demo-bob' })).toMatchObject({ status: 201 });
  expectCounted(await db.order.count({ where: { idempotencyKey: key } })).toBe(0);
  // Time goes by, and the key that was refused is as good as new.
  await db.rateLimit.updateMany({ data: { expire: BigInt(Date.now()) } });
  expect(await api.create({ key })).toMatchObject({ status: 201, headers: { 'idempotency-status': 'stored' } });
});
