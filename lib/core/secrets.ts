import { hash } from 'node:crypto';
import { ConfigurationError } from './errors.ts';
import { type Hmac, hmacUnder } from './hmac.ts';
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
    if (value.length < LEAST_TO_SIGN) {
      throw new ConfigurationError(`Secret number ${index + 1} is too short. Make one with: openssl rand -base64 32`, {
        existing: `${value.length} characters`,
        expected: `at least ${LEAST_TO_SIGN} characters`,
      });
    }
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
    if ((values.get(name) ?? value) !== value) {
      throw new ConfigurationError(
        `Secret number ${index + 1} has the name of another one by chance. Make a new one with: openssl rand -base64 32`,
        { existing: name, expected: 'a name of its own for each secret' },
      );
    }
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
