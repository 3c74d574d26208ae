import { z } from 'zod';
import { nameOf } from './names.ts';

const MESSAGES_PER_PAGE = 25;

const OUTBOX_STATES = ['pending', 'dead', 'delivered', 'skipped'] as const;
const INBOX_STATES = ['failed', 'dead', 'processed'] as const;

const common = {
  /** The destination or the source. */
  peer: nameOf(100).optional().catch(undefined),
  page: z.coerce.number().int().min(1).max(10_000).catch(1),
};

/** The filters of the list's address; one that cannot be read is ignored. */
const query = z.union([
  z.object({ box: z.literal('inbox'), state: z.enum(INBOX_STATES).optional().catch(undefined), ...common }),
  z.object({
    box: z.literal('outbox').catch('outbox'),
    state: z.enum(OUTBOX_STATES).optional().catch(undefined),
    ...common,
  }),
]);

export type MessagesQuery = z.output<typeof query>;
export type OutboxQuery = Extract<MessagesQuery, { box: 'outbox' }>;
export type InboxQuery = Extract<MessagesQuery, { box: 'inbox' }>;

export function readMessagesQuery(params: Record<string, string | string[] | undefined>): MessagesQuery {
  return query.parse(params);
}

/** The part of a list that a page of it shows. */
export function pageOf({ page }: Pick<MessagesQuery, 'page'>): { limit: number; offset: number } {
  return { limit: MESSAGES_PER_PAGE, offset: (page - 1) * MESSAGES_PER_PAGE };
}

/** The names that the filter offers: those in use, and those that still have something open. */
export function peersOf(
  { peer }: MessagesQuery,
  known: readonly string[],
  open: readonly { peer: string }[],
): string[] {
  return [...new Set([...known, ...open.map((each) => each.peer), ...(peer ? [peer] : [])])].sort();
}
