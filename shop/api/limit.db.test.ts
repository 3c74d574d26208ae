import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openApi } from './api.fixture.ts';

process.env.DEMO_ORDER_LIMIT = '3/60';

let api: Awaited<ReturnType<typeof openApi>>;
let limit: typeof import('../orders/order-limit.ts');
beforeAll(async () => {
  api = await openApi();
  limit = await import('../orders/order-limit.ts');
});
afterAll(() => api?.shop.close());

test('past the limit new keys wait; replays are free, others are not held up, and the key stays usable', async () => {
  const keys = [randomUUID(), randomUUID(), randomUUID()];
  for (const key of keys) expect(await api.create({ key })).toMatchObject({ status: 201 });
  const key = randomUUID();
  const limited = await api.create({ key });
  expect(limited).toMatchObject({ status: 429, body: { code: 'rate_limited', retry: 'same-key' } });
  const seconds = Number(limited.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(30);
  expect(seconds).toBeLessThanOrEqual(60);
  for (const key of keys) {
    const replay = await api.create({ key });
    expect(replay).toMatchObject({ status: 201 });
    expect(replay.headers.get('idempotency-status')).toBe('replayed');
  }
  expect(await api.shop.client.idempotencyKey.count({ where: { key } })).toBe(0);
  expect(await api.create({ key: randomUUID(), token: 'demo-bob' })).toMatchObject({ status: 201 });
  // The minute is over.
  await api.shop.client.rateLimit.updateMany({ data: { expire: BigInt(Date.now()) } });
  expect(await api.create({ key })).toMatchObject({ status: 201 });
});

const who = {
  scope: { tenant: 'demo', principal: 'carol', operation: 'checkout' },
  isAnonymous: false,
  address: undefined,
};

test('of many at once, by two processes, exactly as many are admitted as the limit says', async () => {
  const [one, other] = [
    limit.admitBy(limit.orderLimiter({ points: 7, duration: 60 })),
    limit.admitBy(limit.orderLimiter({ points: 7, duration: 60 })),
  ];
  const admitted = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? one : other)(who)));
  expect(admitted.filter((answer) => answer === true)).toHaveLength(7);
});

test('visitors are counted by where they are, whatever new names they take, and apart from who is signed in', async () => {
  const admit = limit.admitBy(limit.orderLimiter({ points: 2, duration: 60 }));
  const visitor = (address: string | undefined) =>
    admit({ scope: { ...who.scope, principal: randomUUID() }, isAnonymous: true, address });
  const [there, elsewhere, nowhere] = [randomUUID(), randomUUID(), undefined];
  for (const address of [there, nowhere]) {
    const answers = [await visitor(address), await visitor(address), await visitor(address)];
    expect(answers).toEqual([true, true, expect.any(Number)]);
  }
  expect(await visitor(elsewhere)).toBe(true);
  const signedIn = { ...who, scope: { ...who.scope, principal: `visitors at ${there}` } };
  expect(await admit(signedIn)).toBe(true);
});

test('a limiter that cannot be asked admits, and says so', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  const broken = limit.orderLimiter({ points: 1, duration: 60 }, () => Promise.reject(new Error('away')));
  expect(await limit.admitBy(broken)(who)).toBe(true);
  expect(said).toHaveBeenCalledOnce();
  said.mockRestore();
});

test('the limit is read as orders/seconds', () => {
  expect(limit.readLimit('5/60')).toEqual({ points: 5, duration: 60 });
  expect(limit.readLimit(undefined)).toEqual({ points: 600, duration: 60 });
  for (const wrong of ['', '5', '0/60', '5/0', '-1/60', '5/60s'])
    expect(() => limit.readLimit(wrong)).toThrow('DEMO_ORDER_LIMIT');
});
