import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { ConfigurationError } from './errors.ts';
import { lengthPrefixed } from './length-prefix.ts';

/** One configured secret, with the public name under which rows remember it. */
export interface Secret {
  readonly id: string;
  readonly value: string;
  /** The value, as `createHmac` takes it without reading it anew each time. */
  readonly signingKey: KeyObject;
}

/** The configured secrets: the first signs, all verify. Empty only outside production. */
export interface Secrets {
  readonly first: Secret | undefined;
  readonly all: readonly Secret[];
}

const MIN_LENGTH = 32;

/** Reads the configured secrets. Throws `ConfigurationError` for one that is too short to resist guessing. */
export function readSecrets(values: readonly (string | undefined)[]): Secrets {
  // An unset variable counts as no secret: a build has none, and production refuses at first use.
  const given = values.filter((value): value is string => value !== undefined && value !== '');
  const all = given.map((value, index) => {
    if (value.length < MIN_LENGTH) {
      throw new ConfigurationError(`Secret number ${index + 1} is too short. Make one with: openssl rand -base64 32`, {
        existing: `${value.length} characters`,
        expected: `at least ${MIN_LENGTH} characters`,
      });
    }
    return { id: secretId(value), value, signingKey: createSecretKey(value, 'utf8') };
  });
  return { first: all[0], all };
}

/** Sixteen hex digits that name a secret without telling it. */
function secretId(value: string): string {
  return createHash('sha256').update(lengthPrefixed('oncekit/secret-id', value)).digest('hex').slice(0, 16);
}

/** A key for one purpose, so that what leaks from one use says nothing about another. */
export function deriveKey(secret: string, purpose: string, ...context: string[]): Buffer {
  return createHmac('sha256', secret)
    .update(lengthPrefixed('oncekit', purpose, ...context))
    .digest();
}
