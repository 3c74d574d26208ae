import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { createAdmin } from '../../admin/index.ts';
import { LeaseLostError } from '../../core/errors.ts';
import { ANN, freshKey } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { LogEntry } from '../log.ts';
import {
  type Call,
  database,
  expectOnce,
  provider,
  rowOf,
  seenCall,
  shop,
  stepsOf,
  untilLocked,
  usePhases,
} from './shop.fixture.ts';

/** The provider itself says that a call succeeded: before its outcome is known, beside a person's word, and behind the end. */

usePhases();

const STEP = 'charge_created';
const STOPPED = expect.stringMatching(/^A proof of a call of pay \S+ was heard/);
const SAID = 'payment_intent.succeeded ch_1';
const store = () => prismaStore(database.client);
const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
/** A provider that knows no key and cannot be asked, but whose references can be read. */
const BLIND: Partial<Call> = {
  indeterminate: 'unknown',
  providerKeyTtlMs: 0,
  maxTries: 1,
  fromReference: async (id) => {
    if (![...provider.charges.values()].some((charge) => charge.id === id)) throw new Error('no such charge');
    return { id };
  },
};

function sale(how: Partial<Call> = {}) {
  const logged: LogEntry[] = [];
  const errors: unknown[] = [];
  const { checkout, idempotency } = shop(
    { log: (entry) => void logged.push(entry), onError: (error) => void errors.push(error) },
    { ...BLIND, ...how },
  );
  const key = freshKey();
  provider.honoursKeys = false;
  const send = () => checkout.execute({ key, payload: {} });
  const prove = (succeeded = 'ch_1', step = STEP, said = SAID) =>
    database.client.$transaction((tx) =>
      idempotency.recordEvidence(tx, idOf(key), { said, step, succeeded }, 'stripe'),
    );
  const work = () => idempotency.completeDue({ limit: 100 });
  const judge = async (kind: 'failed' | 'retry', overrules?: string) =>
    await createAdmin({ prisma: database.client }).resolve(await seenCall(key), { kind, overrules }, 'eve');
  return { key, send, prove, work, judge, logged, errors };
}

/** A key whose charge was made, and its answer lost: nobody can be asked. */
async function doubt(how: Partial<Call> = {}) {
  const one = sale(how);
  provider.faults = ['after'];
  expect(await one.send()).toMatchObject({ code: 'outcome_unknown' });
  expect(await rowOf(one.key)).toMatchObject({ state: 'unknown' });
  return one;
}

const eventsOf = async (key: string) => (await store().events(idOf(key))).map(({ type }) => type);
const referenceOf = async (key: string) => (await stepsOf(key)).find(({ name }) => name === STEP)?.reference;
const expectSentOnce = (key: string) =>
  expectCounted([provider.sends, provider.count(`order-of-${key}`)]).toEqual([1, 1]);

describe('S4 a proof of a call whose outcome is not known', () => {
  test('ends it, by its reference, and nobody is asked', async () => {
    const { key, prove, work, send } = await doubt();
    expect(await work()).toMatchObject({ taken: 0 });
    expect(await prove()).toBe('ends');
    expect(await work()).toMatchObject({ settled: 1 });
    await expectOnce(key);
    expectSentOnce(key);
    expect(await send()).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
  });

  test('ends it by a look-up where the call reads no references, and in no other way', async () => {
    const lookup: Call['lookup'] = async ({ order }) => provider.find(order);
    const { key, prove, work } = await doubt({ fromReference: undefined, lookup });
    provider.says = 'absent';
    expect(await prove()).toBe('ends');
    expect(await work()).toMatchObject({ unknown: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
    provider.says = undefined;
    await prove();
    expect(await work()).toMatchObject({ settled: 1 });
    expectSentOnce(key);
  });

  test.each([
    ['before the answer is lost', 'after', 'outcome_unknown'],
    ['before the call is declined, which then ends nothing', 'declined', undefined],
  ] as const)('counts where it is heard first: %s', async (_, fault, code) => {
    const { key, send, prove, work, errors } = sale();
    const { charge } = provider;
    provider.charge = async (args, derived) => {
      const { id } = await charge.call(provider, args, derived);
      expect(await prove(id)).toBe('ends');
      throw new Error(fault === 'declined' ? 'declined' : 'lost after');
    };
    const outcome = await send();
    expect(outcome.ok).toBe(false);
    if (code) expect(outcome).toMatchObject({ code });
    else expect(errors).toMatchObject([{ name: 'LeaseLostError', message: STOPPED }]);
    expect(await rowOf(key)).toMatchObject({ settledAt: null, needsAttention: false });
    expect(await work()).toMatchObject({ settled: 1 });
    await expectOnce(key);
  });

  test.each([
    ['wakes a key that is written as unknown', false],
    ['keeps a call from being sent', true],
  ])('%s while it is heard, whichever comes first', async (_, sendsAgain) => {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    const { key, prove, work } = await doubt();
    await database.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() WHERE key = ${key}`;
    const unknown = await store().takeOver(idOf(key), 600_000, false);
    if (!unknown) throw new Error('It is not due.');
    const held = await store().resolve(unknown, 600_000, { name: STEP, result: null });
    await other.query('BEGIN');
    await other.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
    const told = prove();
    await untilLocked(other, 1);
    const call = { name: STEP, position: 2, arguments: new Uint8Array(1), derivedKey: 'none' };
    const put = sendsAgain
      ? store()
          .startForeign(held, 600_000, call)
          .catch((error) => error)
      : store().markUnknown(held, { askAfterMs: null, attentionAfterMs: 0 });
    await untilLocked(other, 2);
    await other.query('COMMIT');
    expect(await told).toBe('ends');
    await other.end();
    if (sendsAgain) return expect(await put).toBeInstanceOf(LeaseLostError);
    expect(await put).toMatchObject({ state: 'unknown' });
    expect(await work()).toMatchObject({ settled: 1 });
    expectSentOnce(key);
  });

  test('is set aside where its reference makes no result: it stays in doubt, is shown, and is tried again', async () => {
    const { key, prove, work, judge } = await doubt();
    expect(await prove('ch_9')).toBe('ends');
    expect(await work()).toMatchObject({ unknown: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
    expect(await eventsOf(key)).toContain('set_aside');
    await database.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() WHERE key = ${key}`;
    expect(await work()).toMatchObject({ unknown: 1 });
    expectSentOnce(key);
    // Who overrules it names it, and is then taken at their word.
    expect([await judge('retry'), await judge('retry', 'ch_1'), await judge('failed')]).toEqual(
      Array(3).fill('refused'),
    );
    expect(await judge('retry', 'ch_9')).toBe('recorded');
    expect(await work()).toMatchObject({ settled: 1 });
    expectCounted(provider.sends).toBe(2);
  });

  test('is tried once more before a word that overrules it is acted upon', async () => {
    let isReadable = false;
    const read = BLIND.fromReference as NonNullable<Call['fromReference']>;
    const fromReference: Call['fromReference'] = async (id, request) => {
      if (!isReadable) throw new Error('the provider is down');
      return await read(id, request);
    };
    for (const kind of ['failed', 'retry'] as const) {
      isReadable = false;
      provider.charges.clear();
      provider.sends = 0;
      const { key, prove, work, judge } = await doubt({ fromReference });
      expect(await prove()).toBe('ends');
      expect(await work()).toMatchObject({ unknown: 1 });
      expect(await judge(kind, 'ch_1')).toBe('recorded');
      isReadable = true;
      expect(await work()).toMatchObject({ settled: 1 });
      await expectOnce(key);
      expectSentOnce(key);
    }
  });

  test.each(['failed', 'retry'] as const)(
    'voids "%s" that was said before, and corrects a mistyped reference',
    async (kind) => {
      const { key, prove, work, judge } = await doubt();
      expect(await judge(kind)).toBe('recorded');
      expect(await prove()).toBe('ends');
      expect(await work()).toMatchObject({ settled: 1 });
      expectSentOnce(key);

      provider.charges.clear();
      provider.sends = 0;
      const mistyped = await doubt();
      const verdict = { kind: 'succeeded', reference: 'ch_x' } as const;
      expect(await store().recordVerdict(await seenCall(mistyped.key), verdict, 'eve')).toBe('recorded');
      expect(await mistyped.prove()).toBe('ends');
      expect(await mistyped.work()).toMatchObject({ settled: 1 });
      expect(await referenceOf(mistyped.key)).toBe('ch_1');
    },
  );

  test("is the provider's own, also where it corrects a reference that a person gave", async () => {
    let isReadable = false;
    const read = BLIND.fromReference as NonNullable<Call['fromReference']>;
    const fromReference: Call['fromReference'] = async (id, request) => {
      if (!isReadable) throw new Error('the provider is down');
      return await read(id, request);
    };
    const { key, prove, work, judge } = await doubt({ fromReference });
    const mistyped = { kind: 'succeeded', reference: 'ch_x' } as const;
    expect(await store().recordVerdict(await seenCall(key), mistyped, 'eve')).toBe('recorded');
    expect(await prove()).toBe('ends');
    await work();
    expect(await judge('retry', 'ch_1')).toBe('recorded');
    isReadable = true;
    expect(await work()).toMatchObject({ settled: 1 });
    expectSentOnce(key);
  });

  test.each([
    ['that a look-up denies', 'lost after'],
    ['of a send that has proved to have done nothing', 'too many requests'],
  ])('has nothing sent by a run that does not know of it: %s', async (_, words) => {
    const lookup: Call['lookup'] = async () => 'absent';
    const { key, send, prove, work, errors } = sale({ indeterminate: 'lookup', lookup, settleMs: 0, maxTries: 2 });
    const { charge } = provider;
    provider.charge = async (args, derived) => {
      const { id } = await charge.call(provider, args, derived);
      await prove(id);
      throw new Error(words);
    };
    expect((await send()).ok).toBe(false);
    expect(errors).toMatchObject([{ name: 'LeaseLostError', message: STOPPED }]);
    expectSentOnce(key);
    expect(await work()).toMatchObject({ settled: 1 });
    await expectOnce(key);
    expectSentOnce(key);
  });

  test('of another step is recorded, and ends nothing', async () => {
    const { key, prove, work } = await doubt();
    expect(await prove('ch_1', 'parcel_booked')).toBe('recorded');
    expect(await work()).toMatchObject({ unknown: 1 });
    expect(await referenceOf(key)).toBe(null);
  });
});

describe('S1 what is proven behind the end', () => {
  const flagged = async (key: string) => (await rowOf(key))?.needsAttention;

  test('contradicts a refusal: the answer stays, and a person is called until they have seen to it', async () => {
    const { key, prove, work, judge, send, logged } = await doubt();
    expect(await judge('failed')).toBe('recorded');
    expect(await work()).toMatchObject({ settled: 1 });
    const refused = { code: 'failed', reason: 'marked_failed' };
    expect(await send()).toMatchObject(refused);
    expect(await flagged(key)).toBe(false);
    expect(await prove()).toBe('contradicts');
    expect(await flagged(key)).toBe(true);
    expect(logged.filter(({ msg }) => msg.startsWith('the provider says'))).toMatchObject([{ operation: 'pay', key }]);
    expect(await send()).toMatchObject(refused);
    expect((await eventsOf(key)).filter((type) => type === 'contradicted')).toHaveLength(1);
    const admin = createAdmin({ prisma: database.client });
    const row = await admin.findKey(idOf(key));
    expect(await admin.acknowledge({ ...idOf(key), fencingToken: row?.fencingToken ?? 0 } as never, 'eve')).toBe(
      'recorded',
    );
    // Repeated it is no news; another reference is.
    expect([await prove(), await flagged(key)]).toEqual(['contradicts', false]);
    expect([await prove('ch_2'), await flagged(key)]).toEqual(['contradicts', true]);
  });

  test('goes with the answer of a refused key, and does not come back when its sender repeats it', async () => {
    const { key, prove, work, judge } = await doubt();
    await judge('failed');
    await work();
    const admin = createAdmin({ prisma: database.client });
    const act = async (how: 'acknowledge' | 'forget') =>
      await admin[how]({ ...idOf(key), fencingToken: (await rowOf(key))?.fencingToken ?? 0 } as never, 'eve');
    expect([await prove(), await referenceOf(key)]).toEqual(['contradicts', 'ch_1']);
    expect([await act('acknowledge'), await act('forget'), await referenceOf(key)]).toEqual([
      'recorded',
      'recorded',
      null,
    ]);
    expect([await prove(), await flagged(key), await referenceOf(key)]).toEqual(['contradicts', false, null]);
  });

  test('is the reference of a call that is done; a second one is another payment', async () => {
    const { key, send, prove, logged } = sale();
    expect(await send()).toMatchObject({ ok: true });
    expect([await prove(), await prove(), await flagged(key)]).toEqual(['none', 'none', false]);
    expect(await eventsOf(key)).toEqual([]);
    expect([await prove('ch_2'), await flagged(key)]).toEqual(['contradicts', true]);
    expect(await referenceOf(key)).toBe('ch_1');
    expect(logged.filter(({ msg }) => msg.startsWith('the provider says'))).toHaveLength(1);
  });

  test('of a payment that is not the receipt’s calls a person, whichever is heard first', async () => {
    const receipt: Call['receipt'] = ({ id }) => ({ reference: id, amount: '$1.00' });
    const { key, send, prove } = sale({ receipt });
    expect(await send()).toMatchObject({ ok: true });
    expect([await referenceOf(key), await prove(), await flagged(key)]).toEqual(['ch_1', 'none', false]);
    expect([await prove('ch_2'), await flagged(key), await referenceOf(key)]).toEqual(['contradicts', true, 'ch_1']);

    const other = sale({ receipt });
    const { charge } = provider;
    provider.charge = async (args, derived) => {
      expect(await other.prove('ch_9')).toBe('ends');
      return await charge.call(provider, args, derived);
    };
    expect(await other.send()).toMatchObject({ ok: true });
    expect([await flagged(other.key), await referenceOf(other.key)]).toEqual([true, 'ch_2']);
  });

  test('a second reference calls a person also where it was heard before the key ended', async () => {
    const { key, send, prove } = sale();
    const { charge } = provider;
    provider.charge = async (args, derived) => {
      const made = await charge.call(provider, args, derived);
      expect([await prove(), await prove('ch_2')]).toEqual(['ends', 'contradicts']);
      return made;
    };
    expect(await send()).toMatchObject({ ok: true });
    expect(await flagged(key)).toBe(true);
  });

  test('says nothing of a key that is not there, nor of a step that it has not', async () => {
    const { send, prove } = sale();
    expect(await prove()).toBe('none');
    await send();
    expect(await prove('ch_1', 'parcel_booked')).toBe('none');
    await expect(prove('')).rejects.toThrow('A proof needs the reference of its call.');
  });
});
