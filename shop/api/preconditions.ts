/**
 * Tells whether `If-Match` allows a change (RFC 9110, 13.1.1): `*`, or a list that holds the ETag. Strongly compared: a weak
 * one says "much the same", and changing what is only much the same loses somebody's change.
 */
export function mayChange(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || tagsIn(ifMatch).includes(etag);
}

/** Tells whether `If-None-Match` says that the client has this already (RFC 9110, 13.1.2). Weakly compared. */
export function isFresh(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.trim() === '*' || tagsIn(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag);
}

/** The entity tags of a list. A tag may hold commas, so the list is not split at them. */
function tagsIn(list: string): string[] {
  return list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
}
