import { KEY_STATES } from 'oncekit';
import type { KeyFilter } from 'oncekit/admin';
import { z } from 'zod';
import { nameOf } from './names.ts';

const ROWS_PER_PAGE = 25;
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

/** A time of UTC, to the minute, as a browser's field writes it. */
const minute = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/)
  .refine((given) => !Number.isNaN(Date.parse(`${given}Z`)))
  .optional()
  .catch(undefined);

const page = z.coerce.number().int().min(1).max(10_000).catch(1);

/** A principal, as an address or a form names it. */
export const wholePrincipal = z.object({ tenant: nameOf(255), principal: nameOf(255) });

/** A key, as an address or a form names it. */
export const keyId = wholePrincipal.extend({ operation: nameOf(100), key: nameOf(255) });

/** Other principals of the same person, as a form names them: one a line. */
export const aliases = z
  .string()
  .max(10_000)
  .transform((lines) => lines.split(/\r?\n/).flatMap((line) => line.trim() || []))
  .pipe(z.array(nameOf(255)).max(100))
  .default([]);

/** The filters in the admin's address; what cannot be read is as if it were not there. */
const query = z.object({
  state: z.enum(KEY_STATES).optional().catch(undefined),
  stuck: z.literal('1').optional().catch(undefined),
  operation: text,
  q: text,
  tenant: text,
  principal: text,
  thing: text,
  from: minute,
  to: minute,
  sort: z.enum(['oldest', 'expires']).optional().catch(undefined),
  page,
});

export type KeysQuery = z.output<typeof query>;

export function readKeysQuery(params: Record<string, string | string[] | undefined>): KeysQuery {
  return query.parse(params);
}

const auditQuery = z.object({
  tenant: text,
  principal: text,
  operation: text,
  key: text,
  actor: text,
  type: text,
  page,
});

export type AuditQuery = z.output<typeof auditQuery>;

/** The filters in the audit's address: whose, which, and by whom. What a form leaves empty filters nothing. */
export function readAuditQuery(params: Record<string, string | string[] | undefined>): AuditQuery {
  return auditQuery.parse(Object.fromEntries(Object.entries(params).filter(([, value]) => value !== '')));
}

/** @param also the keys that the app's own rows lead to, by what is searched for */
export function filterOf(query: KeysQuery, also: NonNullable<KeyFilter['also']>): KeyFilter {
  const { state, stuck, operation, q, tenant, principal, thing, from, to, sort, page } = query;
  const which = { state, stuck: stuck === '1', operation, search: q, tenant, principal, thing, also };
  return { ...which, claimedSince: at(from), claimedBefore: at(to), sort: sort ?? 'newest', ...pageOf(page) };
}

const at = (given: string | undefined) => (given ? new Date(`${given}Z`) : undefined);

/** The keys that somebody must act upon, the oldest first: as many as one looks at before acting. */
export const STUCK: KeyFilter = { stuck: true, sort: 'oldest', limit: 5, offset: 0 };

/** The keys that have ended and are flagged, by what they have ended in: as many as are counted. */
export const SETTLED: KeyFilter[] = (['failed', 'succeeded'] as const).map((state) => ({
  state,
  stuck: true,
  limit: 100,
  offset: 0,
}));

/** Which rows a page of a list shows. */
export function pageOf(page: number): { limit: number; offset: number } {
  return { limit: ROWS_PER_PAGE, offset: (page - 1) * ROWS_PER_PAGE };
}

/** Tells whether the list shows less than all keys. */
export function isNarrowed({ sort: _, page, ...filters }: KeysQuery): boolean {
  return Object.values(filters).some(Boolean) || page > 1;
}

/** Since when the chart of outcomes counts. */
export function chartBegin(now: number): Date {
  return new Date(now - CHART_HOURS * 3_600_000);
}
