import type { MessagesQuery } from '../../../shop/admin/messages-query.ts';
import { withQuery } from '../shared/addresses.ts';

const LIST = '/admin/messages';
const DETAIL = '/admin/messages/detail';

type Change = { [Name in keyof MessagesQuery]?: string | number | undefined };

/** A list with some of its query changed; back to the first page unless another is asked for. */
export function messagesHref(query: MessagesQuery, change: Change): string {
  return withQuery(LIST, { ...query, page: 1, ...change });
}

/** The page of an event that goes out. */
export function sentHref(event: string): string {
  return withQuery(DETAIL, { box: 'outbox', event });
}

/** The page of a received event. */
export function receivedHref({ source, eventId }: { source: string; eventId: string }): string {
  return withQuery(DETAIL, { box: 'inbox', source, event: eventId });
}
