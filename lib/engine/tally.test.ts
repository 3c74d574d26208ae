import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Code } from '../core/codes.ts';
import { type Outcome, refuse } from '../core/outcome.ts';
import type { Tally } from '../store/store.ts';
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
  const tallies = new Tallies(async (rows) => {
    written.push(rows.map(({ operation, outcome, count }) => `${operation} ${outcome} ${count}`));
    await add(rows);
  });
  const count = (outcome: Outcome<unknown>, operation = 'pay') => tallies.count(operation, { outcome });
  return { written, count, later: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
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
