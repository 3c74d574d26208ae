import { randomUUID } from 'node:crypto';
import { MUG } from './fixtures/api-client.ts';
import { insist } from './fixtures/api-insist.ts';
import { BOB, ordersOf, postOrder } from './fixtures/api-orders.ts';
import { expect, type Pair, test } from './fixtures/api-pair.ts';
import { expectCounted } from './fixtures/expect-counted.ts';

/** Requests of one key that meet in two processes on one database. */

const POSTS = 50;
const CHARGES = '/v1/payment_intents';

interface Told {
  status: number;
  idempotency: string | null;
  retryAfter: string | null;
  text: string;
}

async function told(answered: Promise<Response>): Promise<Told> {
  const answer = await answered;
  const { headers, status } = answer;
  const idempotency = headers.get('Idempotency-Status');
  return { status, idempotency, retryAfter: headers.get('Retry-After'), text: await answer.text() };
}

/** Resolves when the key is claimed, and not finished. */
async function untilClaimed({ db }: Pair, key: string, principal = 'alice'): Promise<void> {
  const row = { key, principal, operation: 'orders.create', state: 'in_progress' };
  await expect.poll(() => db.idempotencyKey.count({ where: row })).toBe(1);
}

test(`${POSTS} posts of one key over two processes: one order, one charge, one answer`, { tag: '@all' }, async ({
  pair,
}) => {
  const { apps, db, gateway } = pair;
  // The charge takes a while, so that all others come while it is under way.
  await gateway.break({ path: CHARGES, method: 'POST', kind: 'latency', ms: 500, times: 1 });
  const key = randomUUID();
  const post = (_: unknown, index: number) => told(postOrder(apps[index % 2 === 0 ? 0 : 1].url, key));
  const first = await Promise.all(Array.from({ length: POSTS }, post));
  const stored = first.filter(({ idempotency }) => idempotency === 'stored');
  expect(stored).toHaveLength(1);
  for (const { status, idempotency, retryAfter, text } of first) {
    if (status === 201) {
      expect(text).toBe(stored[0]?.text);
      continue;
    }
    expect({ status, idempotency }).toEqual({ status: 409, idempotency: null });
    expect(JSON.parse(text)).toMatchObject({ code: 'in_flight', retry: 'same-key', key });
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
  }
  const again = await Promise.all(Array.from({ length: POSTS }, post));
  const replay = { status: 201, idempotency: 'replayed', retryAfter: null, text: stored[0]?.text };
  expect(again).toEqual(Array(POSTS).fill(replay));
  expectCounted(await ordersOf(key, db, gateway)).toBe(1);
});

test('a mismatch under way is told in either process, and does not disturb the first', { tag: '@all' }, async ({
  pair,
}) => {
  const { apps, db, gateway } = pair;
  const key = randomUUID();
  const letGo = await apps[0].holdAt('after-started');
  const first = told(postOrder(apps[0].url, key));
  await untilClaimed(pair, key);
  for (const app of apps) {
    const mismatch = await told(postOrder(app.url, key, { ...MUG, quantity: 2 }));
    expect(mismatch).toMatchObject({ status: 422, idempotency: null });
    expect(JSON.parse(mismatch.text)).toMatchObject({ code: 'payload_mismatch', retry: 'never' });
  }
  const duplicate = await told(postOrder(apps[1].url, key));
  expect(duplicate).toMatchObject({ status: 409, retryAfter: '1' });
  await letGo();
  expect(await first).toMatchObject({ status: 201, idempotency: 'stored' });
  expectCounted(await ordersOf(key, db, gateway)).toBe(1);
});

test("another's same key neither waits nor replays, in either process", { tag: '@all' }, async ({ pair }) => {
  const { apps, db, gateway } = pair;
  const key = randomUUID();
  const letGo = await apps[0].holdAt('after-started');
  const alices = told(postOrder(apps[0].url, key));
  await untilClaimed(pair, key);
  // The first process holds all executions at that point; the other one does not.
  const bobs = await told(postOrder(apps[1].url, key, { ...MUG, quantity: 3 }, BOB));
  const unseen = await told(postOrder(apps[1].url, randomUUID(), { ...MUG, quantity: 3 }, BOB));
  expect(bobs).toMatchObject({ status: 201, idempotency: 'stored' });
  const look = ({ text, ...rest }: Told) => ({ ...rest, body: { ...JSON.parse(text), id: 'an id' } });
  expect(look(bobs)).toEqual(look(unseen));
  await letGo();
  expect(await alices).toMatchObject({ status: 201, idempotency: 'stored' });
  expect((await alices).text).not.toBe(bobs.text);
  expectCounted(await ordersOf(key, db, gateway)).toBe(2);
});

test('a process that dies while it pays: the other one finishes, under the same key', async ({ pair }) => {
  const { apps, db, gateway } = pair;
  const key = randomUUID();
  await apps[0].crashAt('after-answer');
  await expect(postOrder(apps[0].url, key)).rejects.toThrow();
  const { status } = await insist(() => apps[1].url, { key });
  expect(status).toBe(201);
  expectCounted(await ordersOf(key, db, gateway)).toBe(1);
  await apps[0].untilHealthy();
  expect(await told(postOrder(apps[0].url, key))).toMatchObject({ status: 201, idempotency: 'replayed' });
});
