import { describe, expect, test } from 'vitest';
import { expectExactlyOne, NotExactlyOneError } from './expect.ts';

/** Counts from 5 on, since there may be others' orders. */
function orders(made: number) {
  let count = 5;
  return {
    count: async () => count,
    work: async () => {
      count += made;
      return 'the answer';
    },
  };
}

describe('expectExactlyOne', () => {
  test('passes on what `work` returns', async () => {
    const { count, work } = orders(1);
    expect(await expectExactlyOne(count, work)).toBe('the answer');
  });

  test.each([
    [0, /not at all instead of once\. .*wait until the page says/],
    [2, /2 times instead of once\. .*serverAction/],
    [-1, /-1 times instead of once/],
  ])('%i effects: says how many, and what to do', async (made, words) => {
    const { count, work } = orders(made);
    const failed = expectExactlyOne(count, work);
    await expect(failed).rejects.toThrow(NotExactlyOneError);
    await expect(failed).rejects.toMatchObject({ existing: made, expected: 1, message: expect.stringMatching(words) });
  });

  test('what `work` throws comes through', async () => {
    const failed = expectExactlyOne(
      async () => 0,
      () => Promise.reject(new Error('no button')),
    );
    await expect(failed).rejects.toThrow('no button');
  });
});
