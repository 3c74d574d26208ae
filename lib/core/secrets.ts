import { hash } from 'node:crypto';
import { ConfigurationError } from './errors.ts';
import { type Hmac, hmacUnder } from './hmac.ts';
import { lengthPrefixed } from './length-prefix.ts';

/** One configured secret, with the public name under which rows remember it. */
export interface Secret {
  readonly id: string;
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
    return { id: secretId(value), value, sign: hmacUnder(Buffer.from(value)) };
  });
  return { first: all[0], all };
}

/** The id that rows carry when no secret is configured (outside production). */
export const NO_SECRET = 'none';

/** The secret that signs and seals. Without one, outside production, an empty one under the id `none`. */
export function writingSecret({ first }: Secrets): Pick<Secret, 'id' | 'value'> {
  return first ?? { id: NO_SECRET, value: '' };
}

/**
 * The value of the secret with this id; undefined when it is not one of ours. What was written without a secret can be
 * written by anybody, so it counts only while none is configured.
 */
export function readingSecret({ all }: Secrets, id: string): string | undefined {
  if (id === NO_SECRET) return all.length === 0 ? '' : undefined;
  return all.find((secret) => secret.id === id)?.value;
}

/** Sixteen hex digits that name a secret without telling it. */
function secretId(value: string): string {
  return hash('sha256', lengthPrefixed('oncekit/secret-id', value)).slice(0, 16);
}

/** A key for one purpose, so that what leaks from one use says nothing about another. */
export function deriveKey(secret: string, purpose: string, ...context: string[]): Buffer {
  return hmacUnder(Buffer.from(secret))(lengthPrefixed('oncekit', purpose, ...context));
}
