import { ConfigurationError } from '../../core/errors.ts';
import { isKey } from '../../core/key-syntax.ts';
import { keyOfHeader } from '../request-headers.ts';

const HEADER = 'Idempotency-Key';

/** Methods that may be sent again by definition (RFC 9110, 9.2.2; QUERY by its draft). All others need a key. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'QUERY']);

/** Methods that get a key where the caller gave none. */
const GETS_ONE = new Set(['POST', 'PATCH']);

/**
 * Settles the key of one call, once, and writes it into `headers`: every attempt sends the same one. The caller's `key`
 * wins, then the caller's header, which is sent as it stands; with `false` there is none but the header's.
 *
 * @returns the bare key, without its quotes
 * @throws ConfigurationError for a key that no server of the kit takes (K1)
 */
export function settleKey(
  method: string,
  headers: Headers,
  given: string | false | undefined,
  newKey: () => string,
): string | undefined {
  const own = headers.get(HEADER);
  // A value that is no key is still the same in all attempts: the server refuses it.
  if (typeof given !== 'string' && own) return keyOfHeader(own) ?? undefined;
  const key = given ?? (GETS_ONE.has(method) ? newKey() : false);
  if (key === false) return;
  if (!isKey(key)) {
    throw new ConfigurationError('A key is 1 to 255 visible ASCII characters without comma and quotes.', {
      existing: key,
    });
  }
  headers.set(HEADER, `"${key.replaceAll('\\', '\\\\')}"`);
  return key;
}

/** True where sending it twice is safe. */
export function isRepeatable(method: string, key: string | undefined): boolean {
  return key !== undefined || IDEMPOTENT.has(method);
}

/** 122 random bits. `randomUUID` is missing from pages served without TLS; random bytes are not. */
export function randomKey(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
