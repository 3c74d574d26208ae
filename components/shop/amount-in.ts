import { formatCents } from '../ui/money.ts';

// How many digits the provider's smallest unit has in currencies where that is not two: https://docs.stripe.com/currencies
const DIGITS: [digits: number, currencies: string][] = [
  [0, 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'],
  [3, 'bhd jod kwd omr tnd'],
];

/** An amount that the provider tells of, in words for people: it may be in any currency. */
export function amountIn(currency: string, units: number): string {
  if (currency === 'usd') return formatCents(units);
  const digits = DIGITS.find(([, currencies]) => currencies.split(' ').includes(currency))?.[0] ?? 2;
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(units / 10 ** digits).toLocaleString('en-US', fraction)} ${currency.toUpperCase()}`;
}
