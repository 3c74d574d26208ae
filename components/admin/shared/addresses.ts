import type { KeySummary } from 'oncekit/admin';
import type { KeysQuery } from '../../../shop/admin/query.ts';
import type { KeyNoticeName } from '../keys/key-notice.tsx';

/** The list with some of its query changed; back to the first page unless another is asked for. */
export function listHref(query: KeysQuery, change: Partial<KeysQuery>): string {
  return withQuery('/admin/keys', { ...query, page: 1, ...change });
}

/** An address whose query holds what is set; the first page is not said. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const kept = Object.entries(query).filter(
    ([name, value]) => value !== undefined && value !== '' && !(name === 'page' && value === 1),
  );
  const params = new URLSearchParams(kept.map(([name, value]) => [name, String(value)]));
  return params.size > 0 ? `${path}?${params}` : path;
}

type KeyId = Pick<KeySummary, 'tenant' | 'principal' | 'operation' | 'key'>;

/** The page of one key. `notice`: what it says at its top; `more`: what it shows besides. */
export function keyHref(
  { tenant, principal, operation, key }: KeyId,
  notice?: KeyNoticeName,
  more: Record<string, string> = {},
): string {
  const params = { tenant, principal, operation, key, ...(notice ? { notice } : {}), ...more };
  return `/admin/keys/detail?${new URLSearchParams(params)}`;
}

/** A time as the filters of an address have it. */
export function toMinute(time: Date): string {
  return time.toISOString().slice(0, 16);
}
