import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { MAX_RESULT_BYTES } from '../../core/errors.ts';
import { effects, freshKey } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { encodeAnswer } from '../answer.ts';
import type { ForeignVerdict } from './context.ts';
import { type Call, database, expectOnce, expire, provider, rowOf, seenCall, shop, usePhases } from './shop.fixture.ts';

usePhases();

const declined = { code: 'failed', reason: 'card_declined', executed: false };
const lookup: Call['lookup'] = async ({ order }) => provider.find(order);

/** As large as a refusal may be before what was done outside is written beside it. */
const message = 'No.';
const bare = encodeAnswer({ kind: 'refusal', reason: 'card_declined', message, status: 422, data: '' });
const widest = 'x'.repeat(MAX_RESULT_BYTES - Buffer.byteLength(bare));

describe('what a call is refused with', () => {
  test.each<[string, Partial<Extract<ForeignVerdict, object>>, object]>([
    ['a message of 300 kB', { status: 402, message: 'x'.repeat(300_000) }, { message: 'x'.repeat(1000) }],
    ['data of nearly 256 KiB', { message, data: widest }, { message, data: undefined }],
    ['data that is an Error', { message: 'No.', data: new Error('no') }, { message: 'No.' }],
    ['a status that is none of a refusal', { status: 200, message: 'No.' }, { message: 'No.' }],
  ])('is stored without what cannot be stored of it, which is reported: %s', async (_, more, told) => {
    const errors: unknown[] = [];
    const judge: Call['judge'] = () => ({ refuse: 'card_declined', ...more });
    const { checkout, idempotency } = shop({ onError: (error) => void errors.push(error) }, { judge });
    const key = freshKey();
    provider.faults = ['declined'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...declined, ...told });
    expect(errors).toHaveLength(1);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...declined, replayed: true });
    expect(provider.sends).toBe(1);
  });

  test.each<[string, Partial<Call>]>([
    ['a provider that knows keys', {}],
    ['one that can be asked', { indeterminate: 'lookup', providerKeyTtlMs: 0, lookup }],
    ['neither', { indeterminate: 'unknown', providerKeyTtlMs: 0 }],
  ])('stays when `onRefused` throws, and is not sent again: %s', async (_, how) => {
    let left = 2;
    const beforeRefused = () => {
      if (left-- > 0) throw new Error('no luck');
    };
    const { checkout, idempotency } = shop({ onError: () => {} }, how, { beforeRefused });
    const key = freshKey();
    provider.faults = ['declined'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: 'unknown' });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...declined, data: { code: 'generic' } });
    expect(provider.sends).toBe(1);
    expectCounted(await effects(database.client, `${key}:undone:card_declined`)).toBe(1);
  });
});

test('a refusal is void once a person has it sent again, and that may have arrived', async () => {
  let left = 1;
  const beforeRefused = () => {
    if (left-- > 0) throw new Error('no luck');
  };
  const { checkout, idempotency } = shop(
    { onError: () => {} },
    { maxTries: 1 },
    { beforeRefused, attentionAfterMs: 0 },
  );
  const key = freshKey();
  provider.faults = ['declined', 'after'];
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(
    'recorded',
  );
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0, unknown: 0 });
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(provider.sends).toBe(3);
  await expectOnce(key);
});

describe('what a judge says that cannot be meant', () => {
  test.each<[string, Call['judge']]>([
    ['a promise', (async () => 'indeterminate') as unknown as Call['judge']],
    [
      'an error of its own',
      () => {
        throw new TypeError('no such property');
      },
    ],
    ['a word that is none', () => 'not-executed' as never],
    ['an object with nothing in it', () => ({}) as never],
    ['an error', () => new Error('declined') as never],
    ['a refusal without its code', () => ({ refuse: undefined }) as never],
  ])('proves nothing, and is reported: %s', async (_, judge) => {
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push(error) }, { judge });
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(errors).toHaveLength(1);
    await expectOnce(key);
  });
});

describe('a refusal while an earlier send is in doubt', () => {
  test('is not believed before the provider was asked: it has charged', async () => {
    const { checkout } = shop({}, { lookup });
    const key = freshKey();
    provider.faults = ['after', 'declined'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
    expect([provider.sends, provider.lookups]).toEqual([2, 1]);
    await expectOnce(key);
  });

  test('is believed where the provider knows nothing of that one, however long it takes to ask', async () => {
    const { checkout, idempotency } = shop({}, { lookup, maxTries: 2 });
    const key = freshKey();
    provider.faults = ['before', 'declined'];
    provider.says = 'nothing';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    provider.says = 'pending';
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(declined);
    expect(provider.sends).toBe(2);
    expectCounted(await effects(database.client, `${key}:undone:card_declined`)).toBe(1);
  });

  test('is believed where nobody can be asked, of a provider that knows keys: it is the answer to the key', async () => {
    const { checkout } = shop();
    const key = freshKey();
    provider.faults = ['before', 'declined'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(declined);
    expect(provider.sends).toBe(2);
    expectCounted(provider.count(`order-of-${key}`)).toBe(0);
    expect(await rowOf(key)).toMatchObject({ state: 'failed' });
  });
});
