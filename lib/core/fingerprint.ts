import { timingSafeEqual } from 'node:crypto';
import { type Hmac, hmacUnder } from './hmac.ts';
import { deriveKey, readingSecret, type Secrets, writingSecret } from './secrets.ts';

/** The version of the canonical form and of the way it is hashed. Rows remember theirs. */
export const FINGERPRINT_VERSION = 1;

/** A keyed hash of a canonical payload, with what is needed to compute it again. */
export interface Fingerprint {
  readonly hash: Uint8Array;
  readonly version: number;
  readonly secretId: string;
}

/**
 * HMAC-SHA-256 under a key of the tenant's own, so that a stored fingerprint cannot be probed with guessed payloads
 * and says nothing across tenants (F2).
 */
export function fingerprint(canonical: string, tenant: string, secrets: Secrets): Fingerprint {
  const { id, value } = writingSecret(secrets);
  return { hash: hash(canonical, tenant, value), version: FINGERPRINT_VERSION, secretId: id };
}

/**
 * Compares a payload with a stored fingerprint. `'unreadable'`: the row was written under a version or a secret that
 * this process does not know, by a newer deploy, say; another instance will (R3). Or it was written without a secret,
 * and now there is one: anybody could have written it.
 *
 * @param own the payload's fingerprint, where it is known already: most rows were written under the first secret, too
 */
export function matchFingerprint(
  stored: Fingerprint,
  canonical: string,
  tenant: string,
  secrets: Secrets,
  own?: Fingerprint,
): 'same' | 'different' | 'unreadable' {
  if (stored.version !== FINGERPRINT_VERSION) return 'unreadable';
  const value = readingSecret(secrets, stored.secretId);
  if (value === undefined) return 'unreadable';
  const ours = own?.secretId === stored.secretId ? own.hash : hash(canonical, tenant, value);
  return isSameHash(ours, stored.hash) ? 'same' : 'different';
}

/** In constant time: what the difference is must not be told by how long it takes to see it. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function hash(canonical: string, tenant: string, secret: string): Buffer {
  return hmacOf(secret, tenant)(Buffer.from(canonical));
}

/** Deriving a tenant's key costs more than using it, so those of the tenants last seen are kept, by secret. */
const hmacs = new Map<string, Map<string, Hmac>>();
const MAX_TENANTS = 1000;

function hmacOf(secret: string, tenant: string): Hmac {
  const ofTenants = hmacs.get(secret) ?? new Map<string, Hmac>();
  const known = ofTenants.get(tenant);
  if (known) return known;
  const hmac = hmacUnder(deriveKey(secret, 'fingerprint', tenant));
  if (ofTenants.size >= MAX_TENANTS) ofTenants.clear();
  hmacs.set(secret, ofTenants.set(tenant, hmac));
  return hmac;
}
