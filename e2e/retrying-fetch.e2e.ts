import { createRetryingFetch } from 'oncekit/http';
import { SEED, tier } from '../scripts/testing/tier.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { random } from './fixtures/random.ts';
import { expect, test } from './fixtures/test.ts';

const POSTS = tier === 'short' ? 40 : 200;
const FAULTY = 0.3;
const KINDS = ['lose-answer', 'lose-request', 'delay-answer', 'status'] as const;

test(`H5 ${POSTS} posts through a network that breaks every third: ${POSTS} orders, each once`, {
  tag: '@chaos-short',
}, async ({ network, gateway, db }) => {
  const next = random(SEED);
  const before = await db.order.count();
  let retries = 0;
  const send = createRetryingFetch({
    // The network is worse than a client should be patient with: here the retries are what is tested.
    budget: false,
    breaker: false,
    policy: { attempts: 10, deadlineMs: 30_000, attemptTimeoutMs: 3000 },
    onRetry: () => void retries++,
  });
  const post = async (index: number) => {
    if (next() < FAULTY) {
      const kind = KINDS[Math.floor(next() * KINDS.length)] ?? 'lose-answer';
      // Later than the client waits: a delay that it would sit out is no fault.
      const how = kind === 'delay-answer' ? { ms: 4000 } : kind === 'status' ? { status: 502 } : {};
      await network.break({ match: { method: 'POST', path: '/api/orders' }, kind, times: 1, ...how });
    }
    return await send(`${network.url}/api/orders`, {
      method: 'POST',
      headers: { Authorization: 'Bearer demo-alice', 'Content-Type': 'application/json' },
      body: JSON.stringify({ sku: 'mug', quantity: 1 + (index % 3), payment_method: 'pm_card_visa' }),
    });
  };
  const answers: Response[] = [];
  const todo = Array.from({ length: POSTS }, (_, index) => index);
  const sendInTurn = async () => {
    for (let index = todo.shift(); index !== undefined; index = todo.shift()) answers.push(await post(index));
  };
  await Promise.all(Array.from({ length: 8 }, sendInTurn));

  expect(answers.filter(({ status }) => status !== 201).map(({ status }) => status)).toEqual([]);
  const ids = new Set(await Promise.all(answers.map(async (answer) => (await answer.json()).id as string)));
  expect(ids.size).toBe(POSTS);
  expectCounted((await db.order.count()) - before).toBe(POSTS);
  const charges = (await gateway.ledger()).charges.filter(({ metadata }) => ids.has(metadata.order_id ?? ''));
  expect(new Set(charges.map(({ metadata }) => metadata.order_id)).size).toBe(POSTS);
  expect(charges).toHaveLength(POSTS);
  const broken = (await network.posts()).filter(({ fault }) => fault !== null).length;
  console.log(`${POSTS} posts, ${broken} broken, ${retries} retries`);
  expect(broken, 'faults that hit').toBeGreaterThan(POSTS * FAULTY * 0.5);
  expect(retries).toBeGreaterThanOrEqual(broken);
});
