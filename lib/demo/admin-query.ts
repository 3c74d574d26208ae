import { KEY_STATES } from 'oncekit';
import type { KeyFilter } from 'oncekit/admin';
import { z } from 'zod';
import { nameOf } from './admin-names.ts';

const KEYS_PER_PAGE = 25;
/** How far back the chart of outcomes goes. */
const CHART_HOURS = 6;

/** NUL is no text for PostgreSQL. */
const text = z
  .string()
  .trim()
  .max(255)
  .refine((given) => !given.includes('\0'))
  .optional()
  .catch(undefined);

/** A principal, as an address or a form names it. */
export const wholePrincipal = z.object({ tenant: nameOf(255), principal: nameOf(255) });

/** A key, as an address or a form names it. */
export const keyId = wholePrincipal.extend({ operation: nameOf(100), key: nameOf(255) });

/** What the admin's address says; what cannot be read is as if it were not there. */
const query = z.object({
  state: z.enum(KEY_STATES).optional().catch(undefined),
  stuck: z.literal('1').optional().catch(undefined),
  operation: text,
  q: text,
  sort: z.enum(['oldest', 'expires']).optional().catch(undefined),
  page: z.coerce.number().int().min(1).max(10_000).catch(1),
});

export type KeysQuery = z.output<typeof query>;

export function readKeysQuery(params: Record<string, string | string[] | undefined>): KeysQuery {
  return query.parse(params);
}

export function filterOf({ state, stuck, operation, q, sort, page }: KeysQuery): KeyFilter {
  const [limit, search] = [KEYS_PER_PAGE, q || undefined];
  const which = { state, stuck: stuck === '1', operation: operation || undefined, search };
  return { ...which, sort: sort ?? 'newest', limit, offset: (page - 1) * limit };
}

/** Whether the list shows less than all keys. */
export function isNarrowed({ state, stuck, operation, q, page }: KeysQuery): boolean {
  return Boolean(state || stuck || operation || q || page > 1);
}

/** Since when the chart of outcomes counts. */
export function chartBegin(now: number): Date {
  return new Date(now - CHART_HOURS * 3_600_000);
}
