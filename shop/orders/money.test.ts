import { expect, test } from 'vitest';
import { AMOUNT_PATTERN, centsOf, dollars } from './money.ts';

test.each([
  ['12', 1200],
  ['12.5', 1250],
  ['0.07', 7],
  ['1.15', 115],
  ['4.35', 435],
])('%s is %i cents', (text, cents) => {
  expect(AMOUNT_PATTERN.test(text)).toBe(true);
  expect(centsOf(text)).toBe(cents);
});

test('an amount in words', () => expect(dollars(123456)).toBe('$1,234.56'));
