import { hash } from 'node:crypto';
import { lengthPrefixed } from './length-prefix.ts';
import type { KeyId, Scope } from './scope.ts';

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

/**
 * A UUID for what an intent makes: it follows from the intent and a name, so every run has the same, also one behind a failover
 * that has lost the first. With a random id, a call that is sent again would have other words under its derived key.
 *
 * @param intent a handler's or a phases function's context fits
 * @param name another for each thing of the intent
 */
export function derivedId(intent: { scope: Scope; key: string }, name: string): string {
  return derivedUuid(derivedKey('', { ...intent.scope, key: intent.key }, `id ${name}`));
}

/** The UUID of a derived key: version 8 of RFC 9562, from the key's first 128 bits. */
export function derivedUuid(derivedKey: string): string {
  const variant = ((Number.parseInt(derivedKey.slice(16, 17), 16) & 3) | 8).toString(16);
  const versioned = `${derivedKey.slice(0, 12)}8${derivedKey.slice(13, 16)}${variant}${derivedKey.slice(17, 32)}`;
  return versioned.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
