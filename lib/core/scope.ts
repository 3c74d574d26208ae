import { ConfigurationError } from './errors.ts';

/** Whose intent it is. */
export interface Principal {
  /** The owner of the data: a company, a shop. One constant where there is only one. */
  tenant: string;
  /** The person or program that acts: a user, an API client, an anonymous shopper's id. */
  principal: string;
  /**
   * Other names of the same person, such as the anonymous shopper who has just signed in. A minted key that was
   * signed for an alias runs and replays under that alias.
   */
  aliases?: readonly string[];
  /**
   * Whether anybody is given such a name for the asking, as by a first cookie. Limits then count by address: a new name for
   * each request would be let in each time.
   */
  isAnonymous?: boolean;
}

/** The space in which a key is unique. Three columns of their own, so that no crafted value of one reaches into another. */
export interface Scope {
  readonly tenant: string;
  readonly principal: string;
  readonly operation: string;
}

/** A key in its scope: the whole identity of an intent. */
export interface KeyId extends Scope {
  readonly key: string;
}

/** One text for a key in its scope, that no other one has: the lengths before it say where each part ends. */
export function nameOf({ tenant, principal, operation, key }: KeyId): string {
  return `${tenant.length}:${principal.length}:${operation.length}:${tenant}${principal}${operation}${key}`;
}

const LIMITS = [
  ['tenant', 255],
  ['principal', 255],
  ['operation', 100],
] as const;

/** Throws `ConfigurationError` for a part that is empty, too long or could collide with another in the database. */
export function assertScope(scope: Scope): void {
  for (const [name, limit] of LIMITS) {
    const value: unknown = scope[name];
    if (
      typeof value === 'string' &&
      value !== '' &&
      (value.length <= limit || [...value].length <= limit) &&
      value.isWellFormed() &&
      !value.includes('\0')
    ) {
      continue;
    }
    throw new ConfigurationError(`The scope's ${name} cannot be used.`, {
      existing: typeof value === 'string' ? `a string of ${value.length} characters` : typeof value,
      expected: `1 to ${limit} characters of well-formed Unicode without NUL`,
    });
  }
}
