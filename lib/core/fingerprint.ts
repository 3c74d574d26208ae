import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secrets } from './secrets.ts';
import { deriveKey } from './secrets.ts';

/** The version of the canonical form and of the way it is hashed. Rows remember theirs. */
export const FINGERPRINT_VERSION = 1;

/** The id that rows carry when no secret is configured (outside production). */
export const NO_SECRET = 'none';

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
  const { id, value } = secrets.first ?? { id: NO_SECRET, value: '' };
  return { hash: hash(canonical, tenant, value), version: FINGERPRINT_VERSION, secretId: id };
}

/**
 * Compares a payload with a stored fingerprint. `'unreadable'`: the row was written under a version or a secret that
 * this process does not know, by a newer deploy, say; another instance will (R3).
 */
export function matchFingerprint(
  stored: Fingerprint,
  canonical: string,
  tenant: string,
  secrets: Secrets,
): 'same' | 'different' | 'unreadable' {
  if (stored.version !== FINGERPRINT_VERSION) return 'unreadable';
  const value = stored.secretId === NO_SECRET ? '' : secrets.all.find(({ id }) => id === stored.secretId)?.value;
  if (value === undefined) return 'unreadable';
  const own = hash(canonical, tenant, value);
  return own.length === stored.hash.length && timingSafeEqual(own, stored.hash) ? 'same' : 'different';
}

function hash(canonical: string, tenant: string, secret: string): Buffer {
  return createHmac('sha256', deriveKey(secret, 'fingerprint', tenant))
    .update(canonical)
    .digest();
}
