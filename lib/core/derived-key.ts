import { hash } from 'node:crypto';
import { lengthPrefixed } from './length-prefix.ts';
import type { KeyId } from './scope.ts';

/**
 * The key that a foreign system is given for one step of one intent (P2): SHA-256, in hex, over the length-prefixed
 * namespace, tenant, principal, operation, key and step. The same for every retry, process and deploy, because nothing
 * in it rotates; another for every other step, principal, operation and app.
 *
 * @param namespace the app's name; keeps two apps apart that share an account at the foreign system
 */
export function derivedKey(namespace: string, id: KeyId, step: string): string {
  return hash('sha256', lengthPrefixed(namespace, id.tenant, id.principal, id.operation, id.key, step));
}

/** The UUID of a derived key: version 8 of RFC 9562, from the key's first 128 bits. */
export function derivedUuid(derivedKey: string): string {
  const variant = ((Number.parseInt(derivedKey.slice(16, 17), 16) & 3) | 8).toString(16);
  const versioned = `${derivedKey.slice(0, 12)}8${derivedKey.slice(13, 16)}${variant}${derivedKey.slice(17, 32)}`;
  return versioned.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
