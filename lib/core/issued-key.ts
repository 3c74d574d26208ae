/** A key that was minted by `mintKey`: a UUIDv7, and its signature where there is one. */
export const MINTED =
  /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})(?:\.([A-Za-z0-9_-]{22}))?$/;

/** A key as it is issued to a form: behind it the names that are volatile there, each behind a space, which no key has. */
export function issuedText(key: string, names: readonly string[]): string {
  return [key, ...names.map(encodeURIComponent)].join(' ');
}

/**
 * Reads the key of what `issueKey` gives to a form, which may have names behind it. Such a key is a minted one: what else has
 * a space is no key, and stays as it is, to be refused.
 */
export function keyOfIssued(text: string): string {
  const [key = ''] = text.split(' ', 1);
  return MINTED.test(key) ? key : text;
}

/**
 * A UUIDv7 (RFC 9562): carries its time and sorts by it. Its random bits and its variant are those of a version 4, for
 * which Node keeps random bytes in store: asking the system for them each time would cost more than all the rest.
 */
export function uuidV7(now: number): string {
  const time = Math.trunc(now).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}
