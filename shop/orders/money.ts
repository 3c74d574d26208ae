const format = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** An amount in words for people: in messages and mails. */
export function dollars(cents: number): string {
  return format.format(cents / 100);
}

// How many digits the provider's smallest unit has in currencies where that is not two: https://docs.stripe.com/currencies
const DIGITS: [digits: number, currencies: string][] = [
  [0, 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'],
  [3, 'bhd jod kwd omr tnd'],
];

/** An amount that the provider tells of, in words for people: it may be in any currency. */
export function amountIn(currency: string, units: number): string {
  if (currency === 'usd') return dollars(units);
  const digits = DIGITS.find(([, currencies]) => currencies.split(' ').includes(currency))?.[0] ?? 2;
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(units / 10 ** digits).toLocaleString('en-US', fraction)} ${currency.toUpperCase()}`;
}

/** An amount as people type it: `12`, `12.5`, `12.50`. */
export const AMOUNT_PATTERN = /^\d{1,6}(\.\d{1,2})?$/;

/** Cents, without a detour through binary fractions. The text must fit `AMOUNT_PATTERN`. */
export function centsOf(amount: string): number {
  const [whole = '0', fraction = ''] = amount.split('.');
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}
