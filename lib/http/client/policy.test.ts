import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RetryBudget } from './policy.ts';

function spendAll(budget: RetryBudget): number {
  let retries = 0;
  while (budget.spend()) retries++;
  return retries;
}

function earn(budget: RetryBudget, times: number): void {
  for (let i = 0; i < times; i++) budget.earn();
}

describe('H5 the retry budget', () => {
  test('H5 begins with ten retries, and no more than ten are saved up', () => {
    expect(spendAll(new RetryBudget())).toBe(10);
    const budget = new RetryBudget();
    earn(budget, 1000);
    expect(spendAll(budget)).toBe(10);
  });

  test('H5 ten requests earn one retry, nine none: rounding loses nothing', () => {
    const budget = new RetryBudget({ reserve: 0 });
    for (let i = 0; i < 100; i++) {
      earn(budget, 9);
      expect(budget.spend()).toBe(false);
      earn(budget, 1);
      expect(budget.spend()).toBe(true);
    }
  });

  test('H5 of n requests at most ratio × n + reserve are retries, in every order', () => {
    const percent = fc.integer({ min: 0, max: 100 });
    fc.assert(
      fc.property(percent, fc.nat(20), fc.nat(20), fc.array(fc.boolean()), (p, reserve, max, order) => {
        const budget = new RetryBudget({ ratio: p / 100, reserve, max });
        let [requests, retries] = [0, 0];
        for (const isRequest of order) {
          if (isRequest) {
            budget.earn();
            requests++;
          } else if (budget.spend()) retries++;
        }
        return retries <= (p * requests) / 100 + reserve;
      }),
    );
  });
});
