import { describe, expect, test } from 'vitest';
import { type Ended, follow, Leaders } from './leaders.ts';

const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k1' };
const leader = { fingerprint: new Uint8Array([1]), waitMs: 1000, deadline: Infinity };
const ENDED: Ended = { kind: 'locked' };

function held() {
  let end!: (ended: Ended) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<Ended>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { execute: () => promise, end, fail };
}

describe('C2 leaders', () => {
  test('C2 a leader is found in the same tick, with its fingerprint and wait', () => {
    const leaders = new Leaders();
    const { execute, end } = held();
    void leaders.lead(id, leader, execute);
    expect(leaders.find(id)).toMatchObject(leader);
    end(ENDED);
  });

  test.each([
    ['tenant', { ...id, tenant: 'other' }],
    ['principal', { ...id, principal: 'bob' }],
    ['operation', { ...id, operation: 'refund' }],
    ['key', { ...id, key: 'k2' }],
    ['cut', { ...id, tenant: 'ac', principal: 'mean' }],
    ['crafted part', { ...id, tenant: 'acme","ann', principal: '' }],
  ])('K4 a leader is not found under another %s', (_, other) => {
    const leaders = new Leaders();
    const { execute, end } = held();
    void leaders.lead(id, leader, execute);
    expect(leaders.find(other)).toBeUndefined();
    end(ENDED);
  });

  test.each(['ends', 'throws'])('C2 a leader is gone before anybody hears that it %s', async (how) => {
    const leaders = new Leaders();
    const { execute, end, fail } = held();
    const ended = leaders.lead(id, leader, execute);
    const found = follow(leaders.find(id) as never, 1000).then(
      () => leaders.find(id),
      () => leaders.find(id),
    );
    if (how === 'ends') end(ENDED);
    else fail(new Error('gone'));
    expect(await found).toBeUndefined();
    await ended.catch(() => {});
  });

  test('C2 a follower hears how the leader ended', async () => {
    const { execute, end } = held();
    const followed = follow({ ...leader, ended: execute() }, 1000);
    end(ENDED);
    expect(await followed).toBe(ENDED);
  });

  test('C2 a follower hears that the leader threw', async () => {
    const { execute, fail } = held();
    const followed = follow({ ...leader, ended: execute() }, 1000);
    fail(new Error('gone'));
    await expect(followed).rejects.toThrow('gone');
  });

  test.each([0, -1])('C3 waitMs %d does not wait, even for a leader that has ended', async (waitMs) => {
    expect(await follow({ ...leader, ended: Promise.resolve(ENDED) }, waitMs)).toBeUndefined();
  });

  test('C2 each follower keeps its own wait, and leaves no timer behind', async () => {
    const { execute, end } = held();
    const shared = { ...leader, ended: execute() };
    const started = performance.now();
    expect(await follow(shared, 30)).toBeUndefined();
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
    const patient = follow(shared, 60_000);
    const during = timers(); // nothing but microtasks run until the next look
    end(ENDED);
    expect(await patient).toBe(ENDED);
    expect(timers()).toBe(during - 1);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
