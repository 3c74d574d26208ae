import { hash } from 'node:crypto';
import { assertSetUp } from './errors.ts';
import { lengthPrefixed } from './length-prefix.ts';

/** One configured secret, with the public names under which it is remembered. */
export interface Secret {
  /** In what is sealed under it, and in rows of fingerprint version 1: 16 hex digits. */
  readonly id: string;
  /** In rows: 24 bits in four characters, enough to tell one's own secrets apart, which `readSecrets` sees to. */
  readonly name: string;
  readonly value: string;
  /** Signs under the value. */
  readonly sign: Hmac;
}

/** The configured secrets: the first signs, all verify. Empty only outside production. */
export interface Secrets {
  readonly first: Secret | undefined;
  readonly all: readonly Secret[];
}

/** How many characters a secret that signs must have. */
export const LEAST_TO_SIGN = 32;

/** The secrets as an option has them: a list, or the text of an environment variable, with commas between them. */
export function secretsIn(
  given: string | readonly (string | undefined)[] | undefined,
): readonly (string | undefined)[] {
  return typeof given === 'string' ? given.split(',').map((each) => each.trim()) : (given ?? []);
}

/** Reads the configured secrets. Throws `ConfigurationError` for one that is too short to resist guessing. */
export function readSecrets(values: readonly (string | undefined)[]): Secrets {
  // An unset variable counts as no secret: a build has none, and production refuses at first use.
  const given = values.filter((value): value is string => value !== undefined && value !== '');
  const all = given.map((value, index) => {
    assertSetUp(
      value.length >= LEAST_TO_SIGN,
      `Secret number ${index + 1} is too short. Make one with: openssl rand -base64 32`,
      { existing: `${value.length} characters`, expected: `at least ${LEAST_TO_SIGN} characters` },
    );
    const id = secretId(value);
    const name = Buffer.from(id.slice(0, 6), 'hex').toString('base64url');
    return { id, name, value, sign: hmacUnder(Buffer.from(value)) };
  });
  assertDistinct(all);
  return { first: all[0], all };
}

/** With two secrets of one name a row could be compared under the wrong one, and a retry be told that it differs. */
function assertDistinct(all: readonly Secret[]): void {
  const values = new Map([[NO_SECRET, '']]);
  for (const [index, { name, value }] of all.entries()) {
    assertSetUp(
      (values.get(name) ?? value) === value,
      `Secret number ${index + 1} has the name of another one by chance. Make a new one with: openssl rand -base64 32`,
      { existing: name, expected: 'a name of its own for each secret' },
    );
    values.set(name, value);
  }
}

/** The id that rows carry when no secret is configured (outside production). */
export const NO_SECRET = 'none';

/** The secret that signs and seals. Without one, outside production, an empty one under the id `none`. */
export function writingSecret({ first }: Secrets): Omit<Secret, 'sign'> {
  return first ?? { id: NO_SECRET, name: NO_SECRET, value: '' };
}

/**
 * The value of the secret with this id or name; undefined when it is not one of ours. What was written without a secret
 * can be written by anybody, so it counts only while none is configured.
 */
export function readingSecret({ all }: Secrets, id: string): string | undefined {
  if (id === NO_SECRET) return all.length === 0 ? '' : undefined;
  return all.find((secret) => secret.id === id || secret.name === id)?.value;
}

/** Sixteen hex digits that name a secret without telling it. */
export function secretId(value: string): string {
  return hash('sha256', lengthPrefixed('oncekit/secret-id', value)).slice(0, 16);
}

/** A key for one purpose, so that what leaks from one use says nothing about another. */
export function deriveKey(secret: string, purpose: string, ...context: string[]): Buffer {
  return hmacUnder(Buffer.from(secret))(lengthPrefixed('oncekit', purpose, ...context));
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/** HMAC-SHA-256 of a message under a key of its own: 32 bytes. */
type Hmac = (message: Uint8Array) => Buffer;

/**
 * HMAC-SHA-256 under one key, for many messages.
 *
 * Two one-shot hashes take half the time of a `createHmac`, which makes an object for each message. The hashes hand over
 * strings because each digest in bytes would be an ArrayBuffer, which costs the garbage collector more than its 32 bytes.
 * Source: RFC 2104.
 */
export function hmacUnder(key: Uint8Array): Hmac {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
  const inner = block.map((byte) => byte ^ 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ 0x5c));
  return (message) => {
    const text = Buffer.concat([inner, message]);
    // One buffer for all messages: nothing is awaited between its two uses.
    outer.write(hash('sha256', text, 'binary'), BLOCK_BYTES, 'binary');
    text.fill(0, 0, BLOCK_BYTES); // it lies in memory that Node hands out again unread, where no key should stay
    return Buffer.from(hash('sha256', outer, 'binary'), 'binary');
  };
}
