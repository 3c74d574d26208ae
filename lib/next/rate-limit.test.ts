import { describe, expect, test } from 'vitest';
import type { Principal } from '../core/scope.ts';
import { callerLimit } from './rate-limit.ts';

const ANN: Principal = { tenant: 'acme', principal: 'ann' };
const guest = (name: string): Principal => ({ tenant: 'acme', principal: name, isAnonymous: true });

/** Asks at a moment, as somebody, from an address. */
function asking(limit: Parameters<typeof callerLimit>[0]) {
  const counted = callerLimit(limit);
  return (who: Principal | null, address: string | null, { method = 'DELETE', at = 0 } = {}) => {
    const headers = new Headers(address === null ? [] : [['X-Real-IP', address]]);
    return counted(new Request('https://shop.test/', { method, headers }), who, at);
  };
}

describe('a caller', () => {
  test('who is signed in is counted by name, wherever the request comes from', () => {
    const ask = asking({ requests: 2, addressHeader: 'x-real-ip' });
    expect(ask(ANN, '1.1.1.1')).toBe(true);
    expect(ask(ANN, '2.2.2.2')).toBe(true);
    expect(ask(ANN, '3.3.3.3')).toBe(30_000);
    expect(ask({ ...ANN, tenant: 'other' }, '1.1.1.1')).toBe(true);
  });

  test.each<[string, (name: string) => Principal | null]>([
    ['who gets a name for the asking', guest],
    ['who is nobody', () => null],
  ])('%s is counted by address, whatever the name', (_, who) => {
    const ask = asking({ requests: 2, addressHeader: 'x-real-ip' });
    expect([ask(who('a'), '1.1.1.1'), ask(who('b'), '1.1.1.1'), ask(who('c'), '1.1.1.1')]).toEqual([
      true,
      true,
      30_000,
    ]);
    expect(ask(who('c'), '2.2.2.2')).toBe(true);
  });

  test('of a list of addresses the last one counts: those before it were sent by whoever calls', () => {
    const ask = asking({ requests: 1, addressHeader: 'x-real-ip' });
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

test('more callers than can be told apart push out the oldest counts, and no others', () => {
  const ask = asking({ requests: 1 });
  const user = (name: number): Principal => ({ tenant: 'acme', principal: String(name) });
  for (let name = 0; name <= 10_000; name++) expect(ask(user(name), null)).toBe(true);
  expect(ask(user(10_000), null)).toBe(30_000);
  expect(ask(user(1), null)).toBe(30_000);
  expect(ask(user(0), null)).toBe(true);
});
