import { timingSafeEqual } from 'node:crypto';
import type { CanonicalTexts } from './canonical.ts';
import { deriveKey, hmacUnder, readingSecret, type Secret, type Secrets, writingSecret } from './secrets.ts';

/** The version of the canonical form, and of the way it is hashed and stored. Rows remember theirs. */
export const FINGERPRINT_VERSION = 2;

/**
 * How many bytes of the HMAC each version keeps. 16 are 128 bits, which nobody finds another payload for: half of the
 * hash, the least that RFC 2104 would have kept. From 3 on they are for what they are about alone, so that no fingerprint changes
 * that an older kit would compare: 3 and 5 for a method that counts, 4 and 5 for a payload with fields that change by themselves.
 */
const BYTES: Readonly<Record<number, number>> = { 1: 32, [FINGERPRINT_VERSION]: 16, 3: 16, 4: 16, 5: 16 };
/** The versions in which the method counts: that of a route's request that is no POST. */
const METHOD_VERSIONS = [3, 5];

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
export function fingerprint({ canonical: [text, whole], method }: Sent, tenant: string, secrets: Secrets): Fingerprint {
  const { name, value } = writingSecret(secrets);
  const hasMethod = method !== undefined && method !== 'POST';
  const version = FINGERPRINT_VERSION + (hasMethod ? 1 : 0) + (whole === undefined ? 0 : 2);
  return { hash: hash(text, method, { version, tenant, secret: value }), version, secretId: name };
}

/** Tells whether a fingerprint counts the method of a request. */
export function countsMethod({ version }: Fingerprint): boolean {
  return METHOD_VERSIONS.includes(version);
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
  const { version } = stored;
  if (value === undefined || !(version in BYTES)) return 'unreadable';
  const { canonical, method, fingerprint: own } = sent;
  const [text, whole] = canonical;
  // Of another version, too, where it makes the same hash of one text.
  const isAlike = own && BYTES[own.version] === BYTES[version] && countsMethod(own) === countsMethod(stored);
  const known = isAlike && own.secretId === stored.secretId ? own.hash : undefined;
  const hashOf = (it: string) => hash(it, method, { version, tenant, secret: value });
  if (isSameHash(known ?? hashOf(text), stored.hash)) return 'same';
  // Of no row of version 4 or 5: these were written without such fields.
  return whole !== undefined && isSameHash(hashOf(whole), stored.hash) ? 'same' : 'different';
}

/** Compares in constant time: how long it takes must not tell what the difference is. */
export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function hash(text: string, method: string | undefined, by: { version: number; tenant: string; secret: string }) {
  const counted = METHOD_VERSIONS.includes(by.version) ? `${text}\n${method}` : text;
  return hmacOf(by.secret, by.tenant)(Buffer.from(counted)).subarray(0, BYTES[by.version]);
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
