import { randomUUID, timingSafeEqual } from 'node:crypto';
import { isKey } from './key-syntax.ts';
import { lengthPrefixed } from './length-prefix.ts';
import type { Scope } from './scope.ts';
import type { Secret } from './secrets.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const SIGNED = /^([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\.([A-Za-z0-9_-]{22})$/;

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
  if (UUID_V7.test(key)) return { shape: 'unsigned', uuid: key, mintedAt: timeOf(key) };
  const [, uuid, signature] = SIGNED.exec(key) ?? [];
  if (uuid && signature) return { shape: 'signed', uuid, mintedAt: timeOf(uuid), signature };
  return { shape: 'foreign' };
}

/** Tells whether any of the secrets signed this key for this scope. Compares in constant time. */
export function verifyKey(key: { uuid: string; signature: string }, scope: Scope, secrets: readonly Secret[]): boolean {
  const given = Buffer.from(key.signature);
  // No early return: the time must not tell which secret fits.
  let fits = false;
  for (const secret of secrets) {
    const expected = Buffer.from(sign(key.uuid, scope, secret));
    if (expected.length === given.length && timingSafeEqual(expected, given)) fits = true;
  }
  return fits;
}

function sign(uuid: string, scope: Scope, secret: Secret): string {
  const signature = secret.sign(lengthPrefixed(uuid, scope.tenant, scope.principal, scope.operation));
  return signature.toString('base64url', 0, 16);
}

/**
 * A UUIDv7 (RFC 9562): carries its time and sorts by it. Its random bits and its variant are those of a version 4, for
 * which Node keeps random bytes in store: asking the system for them each time would cost more than all the rest.
 */
export function uuidV7(now: number): string {
  const time = Math.trunc(now).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

function timeOf(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16));
}
