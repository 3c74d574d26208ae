import { expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { freshKey, gate } from '../../integration/kit.fixture.ts';
import { type Call, database, expectOnce, expire, provider, rowOf, shop, usePhases } from './shop.fixture.ts';

usePhases();

const keyless: Partial<Call> = {
  indeterminate: 'lookup',
  providerKeyTtlMs: 0,
  lookup: async ({ order }) => provider.find(order),
};
const lateAnswers = (key: string) =>
  database.client.idempotencyEvent.count({ where: { key, type: 'late_answer', actor: 'executor' } });

test('P3 a send that outlives its time is not sent again on the word of a look-up, and its answer is heard', async () => {
  provider.honoursKeys = false;
  const answer = gate();
  provider.onCharge = () => answer.opened; // made, and not answered
  provider.says = 'absent';
  const { checkout, idempotency } = shop({}, { ...keyless, timeoutMs: 50 });
  const key = freshKey();
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(provider.sends).toBe(1);
  expectCounted(provider.charges.size).toBe(1);

  provider.says = undefined;
  await database.client
    .$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() + interval '1 h' WHERE key = ${key}`;
  answer.open();
  await expect.poll(() => lateAnswers(key), { interval: 5 }).toBe(1);
  // It is due at once.
  await expect.poll(async () => (await idempotency.completeDue({ limit: 100 })).settled, { interval: 5 }).toBe(1);
  expect(provider.sends).toBe(1);
  await expectOnce(key);
});

test('an answer that comes while the run still asks is its result', async () => {
  provider.honoursKeys = false;
  const answer = gate();
  provider.onCharge = () => answer.opened;
  let asked = 0;
  const lookup: Call['lookup'] = async () => {
    asked++;
    answer.open();
    return 'pending';
  };
  const { checkout } = shop({}, { ...keyless, timeoutMs: 50, lookup });
  const key = freshKey();
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
  expect([provider.sends, asked]).toEqual([1, 1]);
  await expectOnce(key);
  expect(await lateAnswers(key)).toBe(0);
});

test('an answer that comes behind a lost lease is heard', async () => {
  provider.honoursKeys = false;
  const answer = gate();
  provider.onCharge = () => answer.opened;
  provider.says = 'absent';
  const { checkout, idempotency } = shop({ leaseMs: 300, onError: () => {} }, keyless);
  const key = freshKey();
  const first = checkout.execute({ key, payload: {} });
  await expect.poll(() => provider.charges.size, { interval: 5 }).toBe(1);
  await expire(key);
  await idempotency.completeDue({ limit: 100 });
  expect(await rowOf(key)).toMatchObject({ state: 'unknown' });
  expect(await first).toMatchObject({ code: 'outcome_unknown' }); // its heartbeat has found out
  expect(await lateAnswers(key)).toBe(0);
  provider.says = undefined;
  answer.open();
  await expect.poll(() => lateAnswers(key), { interval: 5 }).toBe(1);
  await expect.poll(async () => (await idempotency.completeDue({ limit: 100 })).settled, { interval: 5 }).toBe(1);
  expect(provider.sends).toBe(1);
  await expectOnce(key);
});
