import { afterEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { newIntent, ONCE, open, shop } from './form.fixture.tsx';

/** Keys are remembered, and no storage can break a form (contract B3). */

afterEach(() => vi.restoreAllMocks());

const recordOf = (intent: string) => JSON.parse(sessionStorage.getItem(`oncekit:${intent}`) ?? 'null');

test('B3 the key is remembered before it is sent, and no value that was entered', async () => {
  const orders = shop();
  const held = orders.hold('request');
  const { edit, place, is, intent, initialKey } = await open(orders);
  await edit('a private note');
  const before = Date.now();
  await place();
  await held.reached;
  const record = recordOf(intent);
  expect(record).toMatchObject({ version: 1, key: initialKey, intent, state: 'executing', page: location.href });
  expect(before <= record.submittedAt && record.submittedAt <= Date.now()).toBe(true);
  expect(JSON.stringify(record)).not.toContain('private');
  held.release();
  await is('hasSucceeded');
  expect(recordOf(intent)).toMatchObject({ state: 'settled' });
});

describe('B3 a storage that does not work', () => {
  const refuse = () => {
    throw new DOMException('no', 'SecurityError');
  };
  test.each([
    ['is blocked', () => vi.spyOn(window, 'sessionStorage', 'get').mockImplementation(refuse)],
    ['cannot be read', () => vi.spyOn(Storage.prototype, 'getItem').mockImplementation(refuse)],
    ['is full', () => vi.spyOn(Storage.prototype, 'setItem').mockImplementation(refuse)],
    ['accepts and forgets', () => vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {})],
  ])('%s: the page remembers, and asks when the form comes back', async (_, breakIt) => {
    breakIt();
    const orders = shop();
    orders.loseAnswer();
    const before = await open(orders, { policy: ONCE });
    await before.place();
    await before.is('unknown');
    await before.screen.unmount();
    const { is } = await open(orders, { intent: before.intent });
    await is('hasSucceeded');
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });

  test('storage="memory" writes none', async () => {
    const orders = shop();
    const { place, is, intent } = await open(orders, { storage: 'memory' });
    await place();
    await is('hasSucceeded');
    expect(recordOf(intent)).toBeNull();
  });
});

describe('B3 a record that was tampered with', () => {
  const sound = { version: 1, key: 'k', state: 'unknown', submittedAt: Date.now(), fingerprint: '' };
  test.each([
    ['garbage', '{"version":1'],
    ['another type', '"executing"'],
    ['another version', { ...sound, version: 2 }],
    ['no key', { ...sound, key: 'two words' }],
    ['no time', { ...sound, submittedAt: 'yesterday' }],
    ['a time long ago', { ...sound, submittedAt: Date.now() - 8 * 24 * 3_600_000 }],
  ])('%s is no record', async (_, record) => {
    const orders = shop();
    const intent = newIntent();
    const text = typeof record === 'string' ? record : JSON.stringify({ intent, ...record });
    sessionStorage.setItem(`oncekit:${intent}`, text);
    const { place, is, initialKey } = await open(orders, { intent });
    await is('idle');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toMatchObject([{ key: initialKey }]);
    expect(orders.questions).toEqual([]);
  });

  test.each([
    ['another intent', { intent: 'refund:1' }],
    ['another state', { state: 'done' }],
  ])('%s: the form asks about the key, and works', async (_, wrong) => {
    const orders = shop();
    const intent = newIntent();
    sessionStorage.setItem(`oncekit:${intent}`, JSON.stringify({ ...sound, intent, ...wrong }));
    const { place, is } = await open(orders, { intent });
    await is('unknown');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('the sound one is', async () => {
    const orders = shop();
    const intent = newIntent();
    sessionStorage.setItem(`oncekit:${intent}`, JSON.stringify({ intent, ...sound }));
    const { is, field } = await open(orders, { intent });
    await is('unknown');
    expect(field()).toBe('k');
    expect(orders.questions[0]).toEqual({ method: 'GET', key: 'k' });
  });
});
