import { describe, expect, test } from 'vitest';
import { type Ended, follow, Leaders } from './single-flight.ts';

const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k1' };
const led = { fingerprint: new Uint8Array([1]), waitMs: 1000, deadline: Infinity };
const ENDED: Ended = { kind: 'locked' };

function begun() {
  const leaders = new Leaders();
  return { leaders, leader: leaders.begin(id, led) };
}

describe('C2 leaders', () => {
  test('C2 a leader is found in the same tick, with its fingerprint and wait', () => {
    const { leaders, leader } = begun();
    expect(leaders.find(id)).toBe(leader);
    expect(leader).toMatchObject({ led, hasRow: false });
  });

  test.each([
    ['tenant', { ...id, tenant: 'other' }],
    ['principal', { ...id, principal: 'bob' }],
    ['operation', { ...id, operation: 'refund' }],
    ['key', { ...id, key: 'k2' }],
    ['cut', { ...id, tenant: 'ac', principal: 'mean' }],
    ['crafted part', { ...id, tenant: 'acme","ann', principal: '' }],
  ])('K4 a leader is not found under another %s', (_, other) => {
    expect(begun().leaders.find(other)).toBeUndefined();
  });

  test.each(['ends', 'fails'])('C2 a leader is gone before anybody hears that it %s', async (how) => {
    const { leaders, leader } = begun();
    const found = follow(leader, 1000).then(
      () => leaders.find(id),
      () => leaders.find(id),
    );
    if (how === 'ends') leader.end(ENDED);
    else leader.fail(new Error('gone'));
    expect(await found).toBeUndefined();
  });

  test('C2 each follower hears how the leader ended', async () => {
    const { leader } = begun();
    const followed = [follow(leader, 1000), follow(leader, 1000)];
    leader.end(ENDED);
    expect(await Promise.all(followed)).toEqual([ENDED, ENDED]);
  });

  test('C2 a follower hears that the leader failed', async () => {
    const { leader } = begun();
    const followed = follow(leader, 1000);
    leader.fail(new Error('gone'));
    await expect(followed).rejects.toThrow('gone');
  });

  test('C2 the failure of a leader without followers is its own caller’s, and nobody else’s', async () => {
    const { leaders, leader } = begun();
    leader.fail(new Error('gone')); // a promise that nobody handles would end the process
    await new Promise((resolve) => setImmediate(resolve));
    expect(leaders.find(id)).toBeUndefined();
  });

  test.each([0, -1])('C3 waitMs %d does not wait, even for a leader that has ended', async (waitMs) => {
    expect(await follow({ ended: Promise.resolve(ENDED) }, waitMs)).toBeUndefined();
  });

  test('C2 each follower keeps its own wait, and leaves no timer behind', async () => {
    const { leader } = begun();
    const started = performance.now();
    expect(await follow(leader, 30)).toBeUndefined();
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
    const patient = follow(leader, 60_000);
    const during = timers(); // nothing but microtasks run until the next look
    leader.end(ENDED);
    expect(await patient).toBe(ENDED);
    expect(timers()).toBe(during - 1);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
