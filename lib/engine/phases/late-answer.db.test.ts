import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { ANN, freshKey, gate } from '../../integration/kit.fixture.ts';
import type { Verdict } from '../../store/evidence.ts';
import type { TransactionOptions } from '../../store/prisma/client.ts';
import { recordLateAnswer } from '../../store/prisma/keys/evidence.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { BATCH_MS } from '../../store/prisma/timeouts.ts';
import {
  type Call,
  database,
  expectOnce,
  expire,
  provider,
  rowOf,
  seenCall,
  shop,
  stepsOf,
  usePhases,
} from './shop.fixture.ts';

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

test('an answer that comes while the run still asks is its result, also when it asks for the last time', async () => {
  provider.honoursKeys = false;
  const answer = gate();
  provider.onCharge = () => answer.opened;
  let asked = 0;
  const lookup: Call['lookup'] = async () => {
    asked++;
    answer.open();
    await setImmediate(); // the answer is heard first
    return 'pending';
  };
  const { checkout } = shop({}, { ...keyless, timeoutMs: 50, maxTries: 2, lookup });
  const key = freshKey();
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
  expect([provider.sends, asked]).toEqual([1, 1]);
  await expectOnce(key);
  expect(await lateAnswers(key)).toBe(0);
});

test('P3 "absent" permits no second send where the first one ended behind the question', async () => {
  const end = gate();
  let [sends, charges] = [0, 0];
  const send: Call['send'] = async () => {
    sends++;
    await end.opened;
    charges++;
    throw new Error('reset');
  };
  const lookup: Call['lookup'] = async () => {
    const found = charges > 0;
    end.open();
    await setImmediate(); // the send has ended, and the answer is older
    return found ? { found: { id: 'ch_1' } } : 'absent';
  };
  const { checkout } = shop({}, { ...keyless, timeoutMs: 50, send, lookup });
  expect(await checkout.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
  expectCounted([sends, charges]).toEqual([1, 1]);
});

test('P3 a search may lag behind the end of a send, however long that took', async () => {
  const now = performance.now.bind(performance);
  let later = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
  onTestFinished(() => void vi.restoreAllMocks());
  let sends = 0;
  const send: Call['send'] = async () => {
    sends++;
    later = 61_000;
    throw new Error('502');
  };
  const { checkout } = shop({}, { ...keyless, settleMs: 60_000, send, lookup: async () => 'absent' });
  expect(await checkout.execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(sends).toBe(1);
});

test('an answer that comes while somebody else asks in vain makes the key due all the same', async () => {
  provider.honoursKeys = false;
  const [answer, asked, told] = [gate(), gate(), gate()];
  provider.onCharge = () => answer.opened;
  const how: Partial<Call> = { ...keyless, indeterminate: 'unknown', timeoutMs: 50, maxTries: 1 };
  const key = freshKey();
  await shop({}, { ...how, lookup: async () => 'absent' }).checkout.execute({ key, payload: {} });
  await expire(key);
  // By now it would be asked about once in an hour.
  await database.client.$executeRaw`UPDATE idempotency_keys SET attempts = 40 WHERE key = ${key}`;
  const lookup: Call['lookup'] = async () => {
    asked.open();
    await told.opened;
    return 'absent';
  };
  const asking = shop({}, { ...how, timeoutMs: 10_000, lookup }).idempotency.completeDue({ limit: 100 });
  await asked.opened;
  answer.open();
  await expect.poll(() => lateAnswers(key), { interval: 5 }).toBe(1);
  await expect.poll(async () => (await rowOf(key))?.attempts, { interval: 5 }).toBe(0);
  told.open();
  await asking;
  expect((await rowOf(key))?.nextAttemptAt?.getTime()).toBeLessThanOrEqual(Date.now());
});

test.each([
  ['behind a lost lease', 10_000],
  ['behind its time', 50],
])('a decline that comes %s is heard', async (_, timeoutMs) => {
  const answer = gate();
  const send: Call['send'] = async () => {
    await answer.opened;
    throw new Error('declined');
  };
  const how: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0, timeoutMs, send };
  const { checkout, idempotency } = shop({ onError: () => {} }, how);
  const key = freshKey();
  const first = checkout.execute({ key, payload: {} });
  await expect.poll(async () => (await stepsOf(key)).length, { interval: 5 }).toBe(3);
  if (timeoutMs === 50) await first;
  else {
    await expire(key);
    await idempotency.completeDue({ limit: 100 });
  }
  answer.open();
  expect(await first).toMatchObject({ code: 'outcome_unknown' });
  await expect.poll(() => lateAnswers(key), { interval: 5 }).toBe(1);
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
  // Its heartbeat has found out, by then or while the other was still asking.
  expect(await first).toMatchObject({
    code: expect.stringMatching(/^(in_flight|outcome_unknown)$/),
    executed: 'unknown',
  });
  expect(await lateAnswers(key)).toBe(0);
  provider.says = undefined;
  answer.open();
  await expect.poll(() => lateAnswers(key), { interval: 5 }).toBe(1);
  await expect.poll(async () => (await idempotency.completeDue({ limit: 100 })).settled, { interval: 5 }).toBe(1);
  expect(provider.sends).toBe(1);
  await expectOnce(key);
});

test('an answer that comes late waits for a connection of Prisma’s pool as long as for the key: nobody says it again', async () => {
  const key = freshKey();
  await shop({}, { ...keyless, send: () => Promise.reject(new Error('502')) }).checkout.execute({ key, payload: {} });
  let how: TransactionOptions | undefined;
  const client = new Proxy(database.client, {
    get: (target, name) =>
      name === '$transaction'
        ? (run: never, given: TransactionOptions) => {
            how = given;
            return target.$transaction(run, given);
          }
        : Reflect.get(target, name),
  });
  const id = { ...ANN, operation: 'pay', key };
  await recordLateAnswer(client, id, { step: 'charge_created', token: 1, isResult: true });
  expect(how).toMatchObject({ maxWait: BATCH_MS, timeout: BATCH_MS });
  expect(await lateAnswers(key)).toBe(1);
});

describe('the receipt of an answer that comes when its run is over', () => {
  const receipt: Call['receipt'] = ({ id }) => ({ reference: id, amount: '$1.00' });
  const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
  const store = () => prismaStore(database.client);
  const eventOf = async (key: string, type: string) =>
    (await store().events(idOf(key))).find((event) => event.type === type);
  const expectLeft = async (key: string, call: object, row: object) => {
    expect((await stepsOf(key)).find(({ kind }) => kind === 'foreign')).toMatchObject(call);
    expect(await rowOf(key)).toMatchObject(row);
  };

  /** A key whose call goes on behind its time: `judge` ends it by a person's word, and `hear` lets the answer come. */
  async function slow() {
    provider.honoursKeys = false;
    const answer = gate();
    provider.onCharge = () => answer.opened;
    const fromReference: Call['fromReference'] = async (id) => ({ id });
    const how: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0, timeoutMs: 50, receipt, fromReference };
    const { checkout, idempotency } = shop({}, how);
    const key = freshKey();
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    const hear = async (type: 'late_answer' | 'contradicted') => {
      answer.open();
      const heard = () => eventOf(key, type);
      await expect.poll(heard, { interval: 5 }).toMatchObject({ detail: { said: 'result', reference: 'ch_1' } });
    };
    const judge = async (verdict: Verdict) => {
      expect(await store().recordVerdict(await seenCall(key), verdict, 'eve')).toBe('recorded');
      expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    };
    return { key, hear, judge };
  }
  const foundAs = (reference: string) => ({ kind: 'succeeded', reference }) as const;

  test('stays behind a refusal that says otherwise', async () => {
    const { key, hear, judge } = await slow();
    await judge({ kind: 'failed' });
    await hear('contradicted');
    const call = { state: 'started', reference: 'ch_1', amount: '$1.00' };
    await expectLeft(key, call, { state: 'failed', needsAttention: true });
  });

  test('completes that of a call that was known without one', async () => {
    const { key, hear, judge } = await slow();
    await judge(foundAs('ch_1'));
    await database.client.$executeRaw`UPDATE idempotency_phases SET reference = NULL, amount = NULL WHERE key = ${key}`;
    await hear('late_answer');
    const call = { state: 'done', reference: 'ch_1', amount: '$1.00', knownBy: 'reference' };
    await expectLeft(key, call, { state: 'succeeded', needsAttention: false });
  });

  test.each(['before', 'behind'])('of another reference is another payment, also %s the end', async (when) => {
    const { key, hear, judge } = await slow();
    if (when === 'before') await hear('late_answer');
    await judge(foundAs('ch_9'));
    if (when === 'behind') await hear('contradicted');
    await expectLeft(key, { state: 'done', reference: 'ch_9' }, { state: 'succeeded', needsAttention: true });
  });

  test('does not bring back what was erased', async () => {
    const { key, hear, judge } = await slow();
    await judge(foundAs('ch_1'));
    const seen = { ...idOf(key), fencingToken: (await rowOf(key))?.fencingToken ?? 0 };
    expect(await store().forget(seen, 'eve')).toBe('recorded');
    await hear('late_answer');
    await expectLeft(key, { reference: null, amount: null }, { needsAttention: false });
  });
});
