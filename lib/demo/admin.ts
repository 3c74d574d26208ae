import { KEY_STATES } from 'oncekit';
import { createAdmin, type KeyFilter } from 'oncekit/admin';
import { z } from 'zod';
import { db } from './db.ts';
import { idempotency } from './idempotency.ts';
// An operation can be driven on once its module was imported, and the page of one key imports none.
import './operations.ts';

export const KEYS_PER_PAGE = 25;

const text = z.string().trim().max(255).optional().catch(undefined);

/** What the admin's address says; what cannot be read is as if it were not there. */
const query = z.object({
  state: z.enum(KEY_STATES).optional().catch(undefined),
  operation: text,
  q: text,
  page: z.coerce.number().int().min(1).max(10_000).catch(1),
});

export type KeysQuery = z.output<typeof query>;

export function readKeysQuery(params: Record<string, string | string[] | undefined>): KeysQuery {
  return query.parse(params);
}

export function filterOf({ state, operation, q, page }: KeysQuery): KeyFilter {
  const limit = KEYS_PER_PAGE;
  return { state, operation: operation || undefined, search: q || undefined, limit, offset: (page - 1) * limit };
}

/** The admin view's reads and operations, on the demo's database. */
export function admin() {
  return createAdmin({ prisma: db(), complete: idempotency.completeKey });
}
