import { timingSafeEqual } from 'node:crypto';
import { deriveKey, hmacUnder, readingSecret, type Secret, type Secrets, writingSecret } from './secrets.ts';

/** The version of the canonical form, and of the way it is hashed and stored. Rows remember theirs. */
export const FINGERPRINT_VERSION = 2;
/** The version of a route's request that is no POST, and counts its method: no fingerprint changes that an older kit would compare. */
const METHOD_VERSION = 3;

/**
 * How many bytes of the HMAC each version keeps. 16 are 128 bits, which nobody finds another payload for: half of the
 * hash, the least that RFC 2104 would have kept.
 */
const BYTES: Readonly<Record<number, number>> = { 1: 32, [FINGERPRINT_VERSION]: 16, [METHOD_VERSION]: 16 };

/** A keyed hash of a canonical payload, with what is needed to compute it again. */
export interface Fingerprint {
  readonly hash: Uint8Array;
  readonly version: number;
  /** Of version 1 the secret's id, from then on its name. */
  readonly secretId: string;
}

/** A payload as a fingerprint counts it. A route's request counts its method, too. */
interface Sent {
  readonly canonical: string;
  readonly method?: string | undefined;
  /** Its fingerprint, where that is known already: most rows were written under the first secret, too. */
  readonly fingerprint?: Fingerprint;
}

/**
 * HMAC-SHA-256 under a key of the tenant's own, so that a stored fingerprint cannot be probed with guessed payloads
 * and says nothing across tenants (F2).
 */
export function fingerprint(sent: Sent, tenant: string, secrets: Secrets): Fingerprint {
  const { name, value } = writingSecret(secrets);
  const version = sent.method === undefined || sent.method === 'POST' ? FINGERPRINT_VERSION : METHOD_VERSION;
  return { hash: hash(sent, version, tenant, value), version, secretId: name };
}

/**
 * Compares a payload with a stored fingerprint. `'unreadable'`: the row was written under a version or a secret that
 * this process does not know, by a newer deploy, say; another instance will (R3). Or it was written without a secret,
 * and now there is one: anybody could have written it. With a row whose version counts no method it compares without one.
 */
export function matchFingerprint(
  stored: Fingerprint,
  sent: Sent,
  tenant: string,
  secrets: Secrets,
): 'same' | 'different' | 'unreadable' {
  const value = readingSecret(secrets, stored.secretId);
  if (value === undefined || !(stored.version in BYTES)) return 'unreadable';
  const own = sent.fingerprint;
  const isLikeOwn = own?.version === stored.version && own.secretId === stored.secretId;
  const ours = isLikeOwn ? own.hash : hash(sent, stored.version, tenant, value);
  return isSameHash(ours, stored.hash) ? 'same' : 'different';
}

/** Compares in constant time: how long it takes must not tell what the difference is. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function hash({ canonical, method }: Sent, version: number, tenant: string, secret: string): Buffer {
  const text = version === METHOD_VERSION ? `${canonical}\n${method}` : canonical;
  return hmacOf(secret, tenant)(Buffer.from(text)).subarray(0, BYTES[version]);
}

/** Deriving a tenant's key costs more than using it, so those of the tenants last seen are kept, by secret. */
const hmacs = new Map<string, Map<string, Secret['sign']>>();
const MAX_TENANTS = 1000;

function hmacOf(secret: string, tenant: string): Secret['sign'] {
  const ofTenants = hmacs.get(secret) ?? new Map<string, Secret['sign']>();
  const known = ofTenants.get(tenant);
  if (known) return known;
  const hmac = hmacUnder(deriveKey(secret, 'fingerprint', tenant));
  if (ofTenants.size >= MAX_TENANTS) ofTenants.clear();
  hmacs.set(secret, ofTenants.set(tenant, hmac));
  return hmac;
}
