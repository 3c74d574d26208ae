import { describe, expect, test } from 'vitest';
import { KEY_STATES } from '../core/key-state.ts';
import type { KeyRow } from '../store/store.ts';
import { RecentRows } from './recent-rows.ts';

const at = new Date(0);
const row = (key: string, more: Partial<KeyRow> = {}): KeyRow => ({
  tenant: 'acme',
  principal: 'ann',
  operation: 'checkout',
  key,
  state: 'succeeded',
  fencingToken: 1,
  attempts: 1,
  fingerprint: null,
  result: '[]',
  schemaVersion: 1,
  mintedAt: null,
  claimedAt: at,
  settledAt: at,
  expiresAt: at,
  leaseUntil: null,
  nextAttemptAt: null,
  recoveryPoint: null,
  needsAttention: false,
  traceParent: null,
  ...more,
});

/** A memory with a clock that stands still until it is moved. */
function memory() {
  const clock = { now: 0 };
  return { clock, recent: new RecentRows(() => clock.now) };
}

const kept = (recent: RecentRows, keys: readonly string[]) => keys.filter((key) => recent.find(row(key))).length;

describe('rows that were just seen', () => {
  test.each(KEY_STATES)('S1 only what never changes again is remembered: %s', (state) => {
    const { recent } = memory();
    recent.remember(row('k', { state }));
    expect(recent.find(row('k')) !== undefined).toBe(['succeeded', 'failed', 'abandoned'].includes(state));
  });

  test.each(['tenant', 'principal', 'operation', 'key'])('X1 K4 a row is not found under another %s', (part) => {
    const { recent } = memory();
    recent.remember(row('k'));
    expect(recent.find({ ...row('k'), [part]: 'other' })).toBeUndefined();
  });

  test('X3 it is forgotten after five seconds, however often it was asked for', () => {
    const { recent, clock } = memory();
    recent.remember(row('k'));
    for (clock.now = 0; clock.now < 5000; clock.now += 1000) expect(recent.find(row('k'))).toEqual(row('k'));
    expect(recent.find(row('k'))).toBeUndefined();
  });

  test('R3 the row that was seen last counts, from then on', () => {
    const { recent, clock } = memory();
    recent.remember(row('k', { result: 'old' }));
    clock.now = 4000;
    recent.remember(row('k', { result: 'new' }));
    clock.now = 8000;
    expect(recent.find(row('k'))?.result).toBe('new');
  });

  test('X3 one key is dropped, or all of a principal, and no other', () => {
    const { recent } = memory();
    const [ann, bob] = [row('k'), row('k', { principal: 'bob' })];
    for (const one of [ann, bob, row('l'), row('k', { operation: 'refund' })]) recent.remember(one);
    recent.drop({ tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k' });
    expect([recent.find(ann), recent.find(row('l')), recent.find(bob)]).toEqual([undefined, row('l'), bob]);
    recent.drop({ tenant: 'acme', principal: 'ann' });
    expect([kept(recent, ['l']), recent.find(row('k', { operation: 'refund' }))]).toEqual([0, undefined]);
    expect(recent.find(bob)).toBe(bob);
  });

  test('X3 what was remembered long ago is dropped like what was just seen', () => {
    const { recent } = memory();
    recent.remember(row('k', { result: 'old' }));
    for (let i = 0; i < 500; i++) recent.remember(row(`k${i}`, { principal: 'bob' }));
    recent.remember(row('k', { result: 'new' }));
    recent.drop({ tenant: 'acme', principal: 'ann' });
    expect(recent.find(row('k'))).toBeUndefined();
  });

  test('R3 of a row that was seen twice, long ago and just now, the last counts', () => {
    const { recent } = memory();
    recent.remember(row('k', { result: 'old' }));
    for (let i = 0; i < 500; i++) recent.remember(row(`k${i}`));
    recent.remember(row('k', { result: 'new' }));
    expect(recent.find(row('k'))?.result).toBe('new');
  });

  test('it is bounded in rows, and the oldest go first', () => {
    const { recent } = memory();
    const keys = Array.from({ length: 1500 }, (_, index) => `k${index}`);
    for (const key of keys) recent.remember(row(key));
    expect([kept(recent, keys.slice(0, 500)), kept(recent, keys.slice(500))]).toEqual([0, 1000]);
    recent.remember(row('one more'));
    expect([kept(recent, keys.slice(0, 1000)), kept(recent, keys.slice(1000))]).toEqual([0, 500]);
  });

  test('it is bounded in bytes', () => {
    const { recent } = memory();
    const result = 'x'.repeat(2 ** 18); // the largest answer; counted as two bytes a character
    const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
    const most = keys.map((key) => {
      recent.remember(row(key, { result }));
      return kept(recent, keys);
    });
    // At most three a generation; when the third generation begins, the second is there.
    expect([Math.max(...most), Math.min(...most.slice(3))]).toEqual([6, 4]);
  });
});
