import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Code } from '../core/codes.ts';
import { type Outcome, refuse } from '../core/outcome.ts';
import type { KeyId } from '../core/scope.ts';
import type { Repeat, Tally } from '../store/store.ts';
import { Tallies } from './tally.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const done = (replayed = false): Outcome<unknown> => ({ ok: true, data: 1, replayed, key: 'k', nextKey: 'n' });
const refused = (code: Code, replayed = false): Outcome<unknown> => refuse(code, { executed: 'unknown', replayed });

/** Tallies, and what was written of them, write by write. */
function counting(add: (rows: readonly Tally[]) => Promise<void> = async () => {}) {
  const written: string[][] = [];
  const repeated: Repeat[][] = [];
  const tallies = new Tallies(async (rows, repeats) => {
    written.push(rows.map(({ operation, outcome, count }) => `${operation} ${outcome} ${count}`));
    repeated.push(repeats.map((repeat) => ({ ...repeat })));
    await add(rows);
  });
  const count = (outcome: Outcome<unknown>, operation = 'pay', answers?: KeyId) =>
    tallies.count(operation, { outcome }, answers);
  return { written, repeated, count, later: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test.each([
  [done(), 'created'],
  [done(true), 'replayed'],
  [refused('failed'), 'failed'],
  [refused('failed', true), 'replayed'],
  [refused('in_flight'), 'in_flight'],
  [refused('payload_mismatch'), 'mismatch'],
  [refused('key_expired'), 'expired'],
  [refused('key_abandoned'), 'expired'],
  [refused('outcome_unknown'), 'unknown'],
  [refused('internal'), 'error'],
  [refused('unavailable'), 'error'],
  [refused('result_unreadable'), 'error'],
  [refused('validation'), undefined],
  [refused('key_missing'), undefined],
  [refused('rate_limited'), undefined],
])('a call that ends in %o counts as %s', async (outcome, how) => {
  const { written, count, later } = counting();
  count(outcome);
  await later(10_000);
  expect(written).toEqual(how === undefined ? [] : [[`pay ${how} 1`]]);
});

test('what was counted is written in one go ten seconds after the first, and then only what came since', async () => {
  const { written, count, later } = counting();
  for (const outcome of [done(), done(true), done(true), refused('validation')]) count(outcome);
  count(refused('failed'), 'refund');
  await later(9_999);
  expect(written).toEqual([]);
  await later(1);
  expect(written).toEqual([['pay created 1', 'pay replayed 2', 'refund failed 1']]);
  count(done());
  await later(10_000);
  expect(written[1]).toEqual(['pay created 1']);
  await later(60_000);
  expect(written, 'nothing to write, nothing written').toHaveLength(2);
});

test('a call gets back what it came to, also where nothing is counted', () => {
  const { count } = counting();
  for (const outcome of [done(), refused('validation')]) expect(count(outcome).outcome).toBe(outcome);
});

test('counts that could not be written are kept, tell nobody, and go with the next ones', async () => {
  const fail = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(undefined);
  const { written, count, later } = counting(fail);
  count(done());
  await later(10_000);
  count(done());
  count(done(true));
  await later(10_000);
  expect(written).toEqual([['pay created 1'], ['pay created 2', 'pay replayed 1']]);
});

describe('of a key', () => {
  const key: KeyId = { tenant: 'acme', principal: 'ann', operation: 'pay', key: 'k' };

  test.each([
    [done(true), 'replayed'],
    [refused('failed', true), 'replayed'],
    [refused('in_flight'), 'in_flight'],
    [refused('payload_mismatch'), 'payload_mismatch'],
    [refused('outcome_unknown'), 'outcome_unknown'],
    [refused('key_abandoned'), 'key_abandoned'],
    [done(), undefined],
    [refused('failed'), undefined],
    [refused('key_expired'), undefined],
    [refused('unavailable'), undefined],
  ])('%o is an answer that was given again: %s', async (outcome, type) => {
    const { repeated, count, later } = counting();
    count(outcome, 'pay', key);
    count(outcome);
    await later(10_000);
    expect(repeated).toMatchObject([type === undefined ? [] : [{ ...key, type, count: 1 }]]);
  });

  test('it is said how often, and when at first and at last, also where an earlier write has failed', async () => {
    const fail = vi.fn().mockRejectedValueOnce(new Error('away')).mockResolvedValue(undefined);
    const { repeated, count, later } = counting(fail);
    const start = performance.now();
    const again = async (afterMs: number, of = key) => {
      await later(afterMs);
      count(done(true), 'pay', of);
    };
    await again(0);
    await again(3000);
    await again(0, { ...key, principal: 'bob' });
    await later(7000);
    await again(5000);
    await again(1000, { ...key, key: 'other' });
    await later(10_000);
    const times = { firstAt: start, lastAt: start + 15_000 };
    expect(repeated[1]).toMatchObject([
      { ...key, count: 3, ...times },
      { principal: 'bob', count: 1, firstAt: start + 3000, lastAt: start + 3000 },
      { key: 'other', count: 1 },
    ]);
  });

  test('no more than a thousand keys are written at once, and those are counted on', async () => {
    const { repeated, count, later } = counting();
    for (let n = 0; n < 2200; n++) count(done(true), 'pay', { ...key, key: `k-${n % 1100}` });
    await later(10_000);
    expect(repeated[0]).toHaveLength(1000);
    expect(repeated[0]).toContainEqual(expect.objectContaining({ key: 'k-999', count: 2 }));
  });
});

test('while one write is under way no other begins, and nothing is lost', async () => {
  let end = () => {};
  const slow = vi.fn(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  const { written, count, later } = counting(slow);
  count(done());
  await later(10_000);
  count(done());
  await later(60_000);
  expect(slow).toHaveBeenCalledOnce();
  end();
  await later(0);
  count(done());
  await later(10_000);
  expect(written[1]).toEqual(['pay created 2']);
});

test('no more than a thousand names are kept', async () => {
  const { written, count, later } = counting();
  for (let n = 0; n < 1100; n++) count(done(), `made-up-${n}`);
  await later(10_000);
  expect(written[0]).toHaveLength(1000);
});
