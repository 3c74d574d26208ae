import { z } from 'zod';

/** A name as an address or a form says it: of a principal, a key, a destination, an event. NUL is no text for PostgreSQL. */
export function nameOf(limit: number) {
  return z
    .string()
    .regex(/^[^\0]+$/u)
    .max(limit);
}
