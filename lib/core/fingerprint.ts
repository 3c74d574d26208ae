import { timingSafeEqual } from 'node:crypto';
import type { CanonicalTexts } from './canonical.ts';
import { deriveKey, hmacUnder, readingSecret, type Secret, type Secrets, writingSecret } from './secrets.ts';

/** The version of the canonical form, and of the way it is hashed and stored. Rows remember theirs. */
export const FINGERPRINT_VERSION = 2;

interface Version {
  /**
   * How many bytes of the HMAC it keeps. 16 are 128 bits, which nobody finds another payload for: half of the hash, the
   * least that RFC 2104 would have kept.
   */
  bytes: number;
  /** The method counts: that of a route's request that is no POST. */
  hasMethod?: boolean;
  /** The payload has fields that change by themselves, and they do not count. */
  isLasting?: boolean;
}

/** The later ones are for what they are about alone, so that no fingerprint changes that an older kit would compare. */
const VERSIONS: Readonly<Record<number, Version>> = {
  1: { bytes: 32 },
  [FINGERPRINT_VERSION]: { bytes: 16 },
  3: { bytes: 16, hasMethod: true },
  4: { bytes: 16, isLasting: true },
  5: { bytes: 16, hasMethod: true, isLasting: true },
};

/** A keyed hash of a canonical payload, with what is needed to compute it again. */
export interface Fingerprint {
  readonly hash: Uint8Array;
  readonly version: number;
  /** Of version 1 the secret's id, from then on its name. */
  readonly secretId: string;
}

/** A payload as a fingerprint counts it. A route's request counts its method, too. */
interface Sent {
  readonly canonical: CanonicalTexts;
  readonly method?: string | undefined;
  /** Its fingerprint, where that is known already: most rows were written under the first secret, too. */
  readonly fingerprint?: Fingerprint;
}

/**
 * HMAC-SHA-256 under a key of the tenant's own, so that a stored fingerprint cannot be probed with guessed payloads
 * and says nothing across tenants (F2).
 */
export function fingerprint({ canonical, method }: Sent, tenant: string, secrets: Secrets): Fingerprint {
  const { name, value } = writingSecret(secrets);
  const hasMethod = method !== undefined && method !== 'POST';
  const version = FINGERPRINT_VERSION + (hasMethod ? 1 : 0) + (canonical.whole === undefined ? 0 : 2);
  return { hash: hash(canonical.text, method, { version, tenant, secret: value }), version, secretId: name };
}

/** Tells whether a fingerprint counts the method of a request. */
export function countsMethod({ version }: Fingerprint): boolean {
  return VERSIONS[version]?.hasMethod === true;
}

/**
 * Compares a payload with a stored fingerprint. `'unreadable'`: the row was written under a version or a secret that
 * this process does not know, by a newer deploy, say; another instance will (R3). Or it was written without a secret,
 * and now there is one: anybody could have written it. With a row whose version counts no method it compares without one. A row
 * of a version in which all fields count may be of a payload that had those that change by themselves, or had none.
 */
export function matchFingerprint(
  stored: Fingerprint,
  sent: Sent,
  tenant: string,
  secrets: Secrets,
): 'same' | 'different' | 'unreadable' {
  const value = readingSecret(secrets, stored.secretId);
  const how = VERSIONS[stored.version];
  if (value === undefined || !how) return 'unreadable';
  const { canonical, method, fingerprint: own } = sent;
  const hashOf = (text: string) => hash(text, method, { version: stored.version, tenant, secret: value });
  const isLikeOwn = own?.secretId === stored.secretId && isAlike(VERSIONS[own.version], how);
  if (isSameHash(isLikeOwn ? own.hash : hashOf(canonical.text), stored.hash)) return 'same';
  if (how.isLasting || canonical.whole === undefined) return 'different';
  return isSameHash(hashOf(canonical.whole), stored.hash) ? 'same' : 'different';
}

/** Tells whether two versions make the same hash of one text. */
function isAlike(one: Version | undefined, other: Version): boolean {
  return one?.bytes === other.bytes && one.hasMethod === other.hasMethod;
}

/** Compares in constant time: how long it takes must not tell what the difference is. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function hash(text: string, method: string | undefined, under: { version: number; tenant: string; secret: string }) {
  const { bytes, hasMethod } = VERSIONS[under.version] as Version;
  const counted = hasMethod ? `${text}\n${method}` : text;
  return hmacOf(under.secret, under.tenant)(Buffer.from(counted)).subarray(0, bytes);
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
