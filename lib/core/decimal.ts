/**
 * A decimal number as Prisma gives one, by its shape: each generated client has a class of its own, and so has `decimal.js`,
 * which they are made of.
 */
export interface DecimalLike {
  readonly d: number[];
  readonly e: number;
  readonly s: number;
  toFixed(places?: number): string;
  valueOf(): string;
}

/** The mark that every copy of `decimal.js` puts on its numbers, by which its own `isDecimal` knows those of another. */
const MARK = '[object Decimal]';

export function isDecimal(value: unknown): value is DecimalLike {
  return typeof value === 'object' && value !== null && (value as { toStringTag?: unknown }).toStringTag === MARK;
}
