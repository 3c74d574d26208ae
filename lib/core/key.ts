import { hash } from 'node:crypto';
import { isSameHash } from './fingerprint.ts';
import { MINTED, uuidV7 } from './issued-key.ts';
import { lengthPrefixed } from './length-prefix.ts';
import { isKey, type KeyId, type Scope } from './scope.ts';
import type { Secret } from './secrets.ts';

/** A key's text, read before any signature is checked. */
export type ParsedKey =
  | { shape: 'malformed' }
  | { shape: 'foreign' }
  | { shape: 'unsigned'; uuid: string; mintedAt: Date }
  | { shape: 'signed'; uuid: string; mintedAt: Date; signature: string };

/**
 * Mints a key: a UUIDv7 (RFC 9562), which carries its time and sorts by it, and with a secret `.<sig>`, which binds
 * it to one principal's operation. Source of the idea: keys minted at render, contract K2.
 *
 * @param now milliseconds since the epoch
 */
export function mintKey(now: number, scope: Scope, secret: Secret | undefined): string {
  const uuid = uuidV7(now);
  return secret ? `${uuid}.${sign(uuid, scope, secret)}` : uuid;
}

export function parseKey(key: string): ParsedKey {
  if (!isKey(key)) return { shape: 'malformed' };
  const [, uuid, signature] = MINTED.exec(key) ?? [];
  if (!uuid) return { shape: 'foreign' };
  const mintedAt = new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
  return signature ? { shape: 'signed', uuid, mintedAt, signature } : { shape: 'unsigned', uuid, mintedAt };
}

/** Tells whether any of the secrets signed this key for this scope. Compares in constant time. */
export function verifyKey(key: { uuid: string; signature: string }, scope: Scope, secrets: readonly Secret[]): boolean {
  const given = Buffer.from(key.signature);
  // No early return: the time must not tell which secret fits.
  let fits = false;
  for (const secret of secrets) {
    const expected = Buffer.from(sign(key.uuid, scope, secret));
    if (isSameHash(expected, given)) fits = true;
  }
  return fits;
}

function sign(uuid: string, scope: Scope, secret: Secret): string {
  const signature = secret.sign(lengthPrefixed(uuid, scope.tenant, scope.principal, scope.operation));
  return signature.toString('base64url', 0, 16);
}

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
