import { describe, expect, test } from 'vitest';
import type { Principal } from '../core/scope.ts';
import { callerLimit } from './rate-limit.ts';

const ANN: Principal = { tenant: 'acme', principal: 'ann' };
const guest = (name: string): Principal => ({ tenant: 'acme', principal: name, isAnonymous: true });

/** Asks at a moment, as somebody, from an address. */
function asking(limit: Parameters<typeof callerLimit>[0], addressHeader?: string) {
  const counted = callerLimit(limit, addressHeader);
  const requestFrom = (address: string | null, method = 'DELETE') =>
    new Request('https://shop.test/', { method, headers: address === null ? [] : [['X-Real-IP', address]] });
  const ask = (who: Principal | null, address: string | null, { method = 'DELETE', at = 0 } = {}) =>
    counted.byCaller(requestFrom(address, method), who, at);
  return Object.assign(ask, { from: (address: string | null, at = 0) => counted.byAddress(requestFrom(address), at) });
}

describe('a caller', () => {
  test('who is signed in is counted by name, wherever the request comes from', () => {
    const ask = asking({ requests: 2 }, 'x-real-ip');
    expect(ask(ANN, '1.1.1.1')).toBe(true);
    expect(ask(ANN, '2.2.2.2')).toBe(true);
    expect(ask(ANN, '3.3.3.3')).toBe(30_000);
    expect(ask({ ...ANN, tenant: 'other' }, '1.1.1.1')).toBe(true);
  });

  test.each<[string, (name: string) => Principal | null]>([
    ['who gets a name for the asking', guest],
    ['who is nobody', () => null],
  ])('%s is counted by address, whatever the name', (_, who) => {
    const ask = asking({ requests: 2 }, 'x-real-ip');
    expect([ask(who('a'), '1.1.1.1'), ask(who('b'), '1.1.1.1'), ask(who('c'), '1.1.1.1')]).toEqual([
      true,
      true,
      30_000,
    ]);
    expect(ask(who('c'), '2.2.2.2')).toBe(true);
  });

  test('of a list of addresses the last one counts: those before it were sent by whoever calls', () => {
    const ask = asking({ requests: 1 }, 'x-real-ip');
    expect(ask(null, '9.9.9.9, 1.1.1.1')).toBe(true);
    expect(ask(null, '8.8.8.8, 1.1.1.1')).toBe(30_000);
  });

  test('without a header that is trusted, strangers share one count for what writes, and none for what reads', () => {
    const ask = asking({ requests: 1 });
    expect([ask(guest('a'), '1.1.1.1'), ask(guest('b'), '2.2.2.2')]).toEqual([true, 30_000]);
    expect([ask(guest('a'), '1.1.1.1', { method: 'GET' }), ask(null, null, { method: 'GET' })]).toEqual([true, true]);
  });

  test('may ask again when the time is over, and hears when that is', () => {
    const ask = asking({ requests: 1, seconds: 10 });
    expect(ask(ANN, null)).toBe(true);
    expect(ask(ANN, null, { at: 9999.5 })).toBe(1);
    expect(ask(ANN, null, { at: 10_000 })).toBe(true);
    expect(ask(ANN, null, { at: 10_001 })).toBe(9999);
  });
});

describe('where callers are', () => {
  test('the addresses of one IPv6 network share a count, however many there are', () => {
    const ask = asking({ requests: 2 }, 'x-real-ip');
    const answers = Array.from({ length: 1000 }, (_, n) => ask(guest(`${n}`), `2001:db8:1:2::${n.toString(16)}`));
    expect(answers.filter((answer) => answer === true)).toHaveLength(2);
    expect(ask(null, '2001:db8:1:3::1')).toBe(true);
  });

  test('all who come from one address have ten times as much, before it is asked who they are', () => {
    const ask = asking({ requests: 2 }, 'x-real-ip');
    const answers = Array.from({ length: 21 }, () => ask.from('1.1.1.1'));
    expect(answers.filter((answer) => answer === true)).toHaveLength(20);
    expect(answers.at(-1)).toBe(30_000);
    expect([ask.from('2.2.2.2'), ask.from(null)]).toEqual([true, true]);
  });
});

describe('more callers than can be told apart', () => {
  const MANY = 10_000;
  const fill = (ask: (n: number) => unknown) => Array.from({ length: MANY }, (_, n) => ask(n)).at(-1);
  const address = (n: number) => `10.0.${n >> 8}.${n & 255}`;

  test('share one count, and push out nobody', () => {
    const ask = asking({ requests: 2 }, 'x-real-ip');
    expect([ask(null, address(0)), ask(null, address(0))]).toEqual([true, true]);
    fill((n) => ask(null, address(n)));
    expect([ask(null, '9.9.9.1'), ask(null, '9.9.9.2'), ask(null, '9.9.9.3')]).toEqual([true, true, 30_000]);
    expect(ask(null, address(0))).toBe(30_000);
    expect(ask(null, address(MANY - 1))).toBe(true);
  });

  test('leave those who are signed in alone', () => {
    const ask = asking({ requests: 1 }, 'x-real-ip');
    fill((n) => ask(null, address(n)));
    ask(null, '9.9.9.9');
    expect([ask(null, '9.9.9.9'), ask(ANN, '9.9.9.9'), ask(ANN, null)]).toEqual([30_000, true, 30_000]);
  });

  test('have counts of their own again when the windows are over', () => {
    const ask = asking({ requests: 1, seconds: 10 }, 'x-real-ip');
    fill((n) => ask(null, address(n)));
    const late = ['9.9.9.1', '9.9.9.2'].map((from) => ask(null, from, { at: 10_000 }));
    expect(late).toEqual([true, true]);
  });
});
