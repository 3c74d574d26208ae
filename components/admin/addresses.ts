import type { KeySummary } from 'oncekit/admin';
import type { KeysQuery } from '../../lib/demo/admin.ts';

/** The list with some of its query changed; back to the first page unless another is asked for. */
export function listHref(query: KeysQuery, change: Partial<KeysQuery>): string {
  const entries = Object.entries({ ...query, page: 1, ...change });
  const kept = entries.filter(
    ([name, value]) => value !== undefined && value !== '' && !(name === 'page' && value === 1),
  );
  const params = new URLSearchParams(kept.map(([name, value]) => [name, String(value)]));
  return params.size > 0 ? `/admin/keys?${params}` : '/admin/keys';
}

export function keyHref({ tenant, principal, operation, key }: KeySummary): string {
  return `/admin/keys/detail?${new URLSearchParams({ tenant, principal, operation, key })}`;
}
