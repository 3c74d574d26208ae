const format = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** An amount in words for people: in messages and mails. */
export function dollars(cents: number): string {
  return format.format(cents / 100);
}

/** An amount as people type it: `12`, `12.5`, `12.50`. */
export const AMOUNT_PATTERN = /^\d{1,6}(\.\d{1,2})?$/;

/** Cents, without a detour through binary fractions. The text must fit `AMOUNT_PATTERN`. */
export function centsOf(amount: string): number {
  const [whole = '0', fraction = ''] = amount.split('.');
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}
