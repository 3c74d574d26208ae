import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { until } from '../../../scripts/testing/until.ts';
import { createAdmin } from '../../admin/index.ts';
import { LeaseLostError } from '../../core/errors.ts';
import { ANN, freshKey, gate, pastTriggers } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import {
  type Call,
  database,
  provider,
  rowOf,
  seenCall,
  shop,
  stepsOf,
  untilLocked,
  usePhases,
} from './shop.fixture.ts';

/** A person has said what became of a call, and then its answer comes, or a webhook tells of it. */

usePhases({ ownsTables: true });

let other: pg.Client;
beforeAll(async () => {
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterAll(() => other?.end());

type Shop = ReturnType<typeof shop>;
type Word = 'failed' | 'retry';
const STEP = 'charge_created';
/** A provider that knows no key and cannot be asked: what a person says is all that is known. */
const BLIND: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0, maxTries: 1 };
const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
const store = () => prismaStore(database.client);
const admin = () => createAdmin({ prisma: database.client });
const say = async (key: string, kind: Word) => {
  const { heard, ...seen } = await seenCall(key);
  return await store().recordVerdict(seen, { kind, overrules: heard ?? undefined }, 'eve');
};
const late = (key: string, isResult = true) => store().recordLateAnswer(idOf(key), { step: STEP, token: 1, isResult });
const hear = (key: string, { idempotency }: Shop) =>
  database.client.$transaction((tx) => idempotency.recordEvidence(tx, idOf(key), 'paid', 'stripe'));
const eventsOf = async (key: string) => (await store().events(idOf(key))).map(({ type }) => type);
const verdictOf = async (key: string) => (await stepsOf(key)).find(({ name }) => name === STEP)?.verdict;
const isListed = async (key: string) => {
  const { rows } = await admin().listKeys({ stuck: true, search: key, limit: 10, offset: 0 });
  return rows.length > 0;
};

/** A key whose charge was made, and its answer lost. */
async function unknownKey(how: Partial<Call> = BLIND) {
  const on = shop({}, how);
  const key = freshKey();
  provider.honoursKeys = false;
  provider.faults = ['after'];
  expect(await on.checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  return { ...on, key };
}

/** It was charged once, and is a person's again. */
async function expectOnceAndAsked(key: string) {
  expectCounted([provider.sends, provider.count(`order-of-${key}`)]).toEqual([1, 1]);
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
  expect([await isListed(key), await verdictOf(key)]).toEqual([true, null]);
}

/**
 * A key whose executor has been answered by the provider, and stands still in front of writing it down: its lease is over, and
 * a person who cannot see that says what became of it. `goOn` lets the executor write.
 */
async function judgedMeanwhile(kind: Word) {
  const on = shop({ leaseMs: 600_000 }, BLIND);
  const [charged, end] = [gate(), gate()];
  provider.onCharge = async () => {
    charged.open();
    await end.opened;
  };
  const key = freshKey();
  const outcome = on.checkout.execute({ key, payload: {} });
  await charged.opened;
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s', needs_attention = true
     WHERE key = ${key}`;
  expect(await say(key, kind)).toBe('recorded');
  const goOn = async () => {
    end.open();
    return await outcome;
  };
  return { ...on, key, goOn };
}

describe('S4 an answer that comes between a person’s word and the run that acts upon it', () => {
  test.each(['failed', 'retry'] as const)('makes the key a person’s again: "%s"', async (kind) => {
    const { key, idempotency, goOn } = await judgedMeanwhile(kind);
    await goOn();
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    await expectOnceAndAsked(key);
    expect(await eventsOf(key)).toEqual(['verdict', 'late_answer', 'unknown']);
    // What that person finds counts, and nobody is called a second time.
    expect(await say(key, 'failed')).toBe('recorded');
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'failed', needsAttention: false });
  });

  test.each(['failed', 'retry'] as const)('has the provider asked, where it can be: "%s"', async (kind) => {
    const { key } = await unknownKey();
    const asking = shop({}, { ...BLIND, lookup: async ({ order }) => provider.find(order) });
    expect(await say(key, kind)).toBe('recorded');
    await late(key);
    expect(await asking.idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
    expectCounted([provider.sends, provider.count(`order-of-${key}`)]).toEqual([1, 1]);
  });

  test('a refusal contradicts no "failed": it is acted upon, and nobody is called', async () => {
    const { key, idempotency } = await unknownKey();
    expect(await say(key, 'failed')).toBe('recorded');
    await late(key, false);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    await late(key, false);
    expect(await rowOf(key)).toMatchObject({ state: 'failed', needsAttention: false });
    expect([await isListed(key), await verdictOf(key)]).toEqual([false, 'failed']);
  });

  test('"it went through" stays: it sends nothing', async () => {
    const { key, idempotency } = await unknownKey({ ...BLIND, fromReference: async (id) => ({ id }) });
    await database.client
      .$executeRaw`UPDATE idempotency_phases SET not_executed = sends WHERE key = ${key} AND name = ${STEP}`;
    const verdict = { kind: 'succeeded', reference: 'ch_1' } as const;
    expect(await store().recordVerdict(await seenCall(key), verdict, 'eve')).toBe('recorded');
    await late(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded' });
  });
});

describe('S4 a run that acts upon the word while it is contradicted', () => {
  const contradict = { 'a late result': (key: string) => late(key), 'a webhook': hear };

  test.each(Object.entries(contradict))('loses the key before it sends: %s', async (_, tell) => {
    const on = await unknownKey();
    const { key, idempotency } = on;
    expect(await say(key, 'retry')).toBe('recorded');
    const unknown = await store().takeOver(idOf(key), 600_000, false);
    if (!unknown) throw new Error('It is not due.');
    const held = await store().resolve(unknown, 600_000, { name: STEP, result: null });
    await tell(key, on);
    const start = { name: STEP, position: 3, arguments: new Uint8Array(), derivedKey: 'k' };
    await expect(store().startForeign(held, 600_000, start)).rejects.toThrow(LeaseLostError);
    // The proof that nothing was done, which the word had become, is void, too.
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    await expectOnceAndAsked(key);
  });

  test.each(Object.entries(contradict))('is left alone where there is no such word: %s', async (_, tell) => {
    const on = await unknownKey();
    await database.client.$executeRaw`
      UPDATE idempotency_keys SET state = 'in_progress', lease_until = now() + interval '1 h' WHERE key = ${on.key}`;
    const before = [await rowOf(on.key), await stepsOf(on.key)];
    await tell(on.key, on);
    expect([await rowOf(on.key), await stepsOf(on.key)]).toEqual(before);
    expect(await eventsOf(on.key)).toHaveLength(4); // with `call_failed`, `unknown` and `needs_attention`
  });
});

/** A charge that the provider keeps open until `end`, and answers with that error. */
function answeredWith(message: string) {
  const [sent, end] = [gate(), gate()];
  const charge = provider.charge.bind(provider);
  provider.charge = async () => {
    provider.sends++;
    provider.charge = charge;
    sent.open();
    await end.opened;
    throw new Error(message);
  };
  return { sent: sent.opened, end: end.open };
}

test.each([
  ['declined', 1],
  ['declined', 4],
  ['too many requests', 1],
  ['too many requests', 4],
])(
  'S4 a result that comes while the call is sent again at a person’s word: it is not sent a third time, when that is %s, of %d tries',
  async (message, maxTries) => {
    const { key } = await unknownKey();
    const { idempotency } = shop({}, { ...BLIND, maxTries });
    expect(await say(key, 'retry')).toBe('recorded');
    const second = answeredWith(message);
    const completing = idempotency.completeDue({ limit: 100 });
    await second.sent;
    await late(key);
    second.end();
    await completing;
    await idempotency.completeDue({ limit: 100 });
    expectCounted([provider.sends, provider.count(`order-of-${key}`)]).toEqual([2, 1]);
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
  },
);

test('S4 a result that comes while a live executor is told that the call is declined calls a person', async () => {
  const { checkout } = shop();
  const key = freshKey();
  const first = answeredWith('declined');
  const outcome = checkout.execute({ key, payload: {} });
  await first.sent;
  await late(key);
  first.end();
  expect(await outcome).toMatchObject({ code: 'failed', reason: 'card_declined' });
  expect(await rowOf(key)).toMatchObject({ state: 'failed', needsAttention: true });
  expect(await isListed(key)).toBe(true);
});

test('S4 a late answer is heard though its connection breaks while it waits', async () => {
  const { key, idempotency } = await unknownKey();
  expect(await say(key, 'failed')).toBe('recorded');
  await other.query('BEGIN');
  await other.query('SELECT 1 FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
  const told = late(key);
  const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until('the answer waits', async () => (await other.query(waiting)).rows.length === 1);
  await other.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS waits`);
  await other.query('COMMIT');
  await told;
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
  await expectOnceAndAsked(key);
});

test('S4 what a webhook says behind a person’s word voids it, and nothing is sent', async () => {
  for (const kind of ['failed', 'retry'] as const) {
    provider.sends = 0;
    provider.charges.clear();
    const on = await unknownKey();
    expect(await say(on.key, kind)).toBe('recorded');
    expect(await hear(on.key, on)).toBe('recorded');
    expect(await on.idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    await expectOnceAndAsked(on.key);
  }
});

test('S4 a result contradicts a stored refusal, too: the key does not end in it', async () => {
  let left = 1;
  const beforeRefused = () => {
    if (left-- > 0) throw new Error('no luck');
  };
  const { checkout, idempotency } = shop({ onError: () => {} }, BLIND, { beforeRefused });
  const key = freshKey();
  provider.faults = ['declined'];
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
  await late(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
});

describe('S4 an answer that comes behind the refusal that a person’s word has become', () => {
  test('is a person’s, though the key stays as it is, until they have seen to it', async () => {
    const { key, idempotency, checkout, goOn } = await judgedMeanwhile('failed');
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await isListed(key)).toBe(false);
    const before = await rowOf(key);
    await goOn();
    expectCounted(provider.count(`order-of-${key}`)).toBe(1);
    const flagged = await rowOf(key);
    expect(flagged).toEqual({ ...before, needsAttention: true, fencingToken: (before?.fencingToken ?? 0) + 1 });
    expect([await isListed(key), await eventsOf(key)]).toEqual([true, ['verdict', 'late_answer']]);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason: 'marked_failed' });
    // Another answer is news to whoever has seen the first one.
    await late(key);
    const seen = (fencingToken = 0) => ({ ...idOf(key), fencingToken });
    expect(await admin().acknowledge(seen(flagged?.fencingToken), 'eve')).toBe('changed');
    expect(await admin().acknowledge(seen((await rowOf(key))?.fencingToken), 'eve')).toBe('recorded');
    expect(await isListed(key)).toBe(false);
  });

  test('changes nothing of a key that has succeeded, nor of one whose call was answered before', async () => {
    const { key, checkout } = { ...shop(), key: freshKey() };
    await checkout.execute({ key, payload: {} });
    const before = await rowOf(key);
    await late(key);
    await late(key);
    expect([await rowOf(key), await eventsOf(key)]).toEqual([before, ['late_answer']]);
    // Nor of one that was refused, which this one becomes past its trigger.
    await pastTriggers(database.client, `UPDATE idempotency_keys SET state = 'failed' WHERE key = $1`, key);
    await late(key);
    expect(await rowOf(key)).toMatchObject({ state: 'failed', needsAttention: false });
  });
});

describe('S4 an answer and a verdict at the same moment, behind somebody who has the row', () => {
  /** Both are sent while the row is held, in this order. */
  async function inOrder(key: string, first: () => Promise<unknown>, second: () => Promise<unknown>) {
    await other.query('BEGIN');
    await other.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
    const one = first();
    await untilLocked(other, 1);
    const two = second();
    await untilLocked(other, 2);
    await other.query('COMMIT');
    return await Promise.all([one, two]);
  }

  test('the verdict first: it is void', async () => {
    const { key, idempotency } = await unknownKey();
    const seen = await seenCall(key);
    const judge = () => store().recordVerdict(seen, { kind: 'retry' }, 'eve');
    expect(await inOrder(key, judge, () => late(key))).toEqual(['recorded', undefined]);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    await expectOnceAndAsked(key);
  });

  test('the answer first: the verdict is refused', async () => {
    const { key, idempotency } = await unknownKey();
    const seen = await seenCall(key);
    const judge = () => store().recordVerdict(seen, { kind: 'retry' }, 'eve');
    expect(await inOrder(key, () => late(key), judge)).toEqual([undefined, 'changed']);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    await expectOnceAndAsked(key);
  });

  test('a run that takes the key up with the verdict, before the answer is written: it loses the key', async () => {
    const { key } = await unknownKey();
    await other.query('BEGIN');
    await other.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
    const told = late(key);
    await untilLocked(other, 1);
    // All of it in the transaction that the answer waits for: as of its beginning there was no word, and no lease.
    await other.query(`UPDATE idempotency_phases SET verdict = 'retry' WHERE key = $1 AND name = $2`, [key, STEP]);
    await other.query(
      `UPDATE idempotency_keys SET state = 'in_progress', lease_until = now() + interval '1 h', fencing_token = 99 WHERE key = $1`,
      [key],
    );
    await other.query('COMMIT');
    await told;
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', fencingToken: 100 });
    expect(await verdictOf(key)).toBeNull();
  });
});
