import { Decimal } from '@prisma/client/runtime/client';

/** Makes a decimal as the user's generated client would: it takes its class from the same module. */
export function decimalOf(digits: string): Decimal {
  return new Decimal(digits);
}
