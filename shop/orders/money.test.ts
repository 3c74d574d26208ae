import { expect, test } from 'vitest';
import { amountIn } from '../../components/shop/amount-in.ts';
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

// The provider counts in hundredths also where people do not, and has currencies of four letters.
test.each([
  ['usd', '$5,000.00'],
  ['jpy', '500,000 JPY'],
  ['huf', '5,000.00 HUF'],
  ['kwd', '500.000 KWD'],
  ['usdc', '5,000.00 USDC'],
])('500,000 of the smallest unit of %s', (currency, words) => expect(amountIn(currency, 500_000)).toBe(words));
