import { ConfigurationError } from './errors.ts';
import { listOf } from './options.ts';

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
   * True if anybody is given such a name for the asking, as by a first cookie. Limits then count by address: a new name for
   * each request would be let in each time.
   */
  isAnonymous?: boolean;
}

/** Who acts, as an app says it. */
export interface PrincipalInput extends Omit<Principal, 'tenant' | 'aliases'> {
  /**
   * The owner of the data: a company, a shop. Leave it out where there is only one: it is then `main`. Keys belong to their
   * tenant, so one that is named later begins without those of `main`.
   */
  tenant?: string;
  /**
   * Other names of the same person, or one, such as the anonymous shopper who has just signed in. A minted key that was
   * signed for an alias runs and replays under that alias.
   */
  aliases?: string | readonly string[];
}

/** The tenant where the app has only one, and names none. */
const DEFAULT_TENANT = 'main';

/**
 * Fills in what an app has left out. A tenant that is there and undefined stays so, and is refused by `assertScope`: an app with
 * many must not put the rows of one that it has failed to find into another's.
 */
export function principalOf(who: PrincipalInput): Principal {
  const { tenant, aliases } = who;
  if (tenant !== undefined && typeof aliases !== 'string') return who as Principal;
  if (typeof who !== 'object') return { tenant: DEFAULT_TENANT, principal: undefined as never };
  return {
    ...who,
    tenant: 'tenant' in who ? (tenant as string) : DEFAULT_TENANT,
    ...(aliases === undefined ? {} : { aliases: listOf(aliases) as readonly string[] }),
  } as Principal;
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

/** 1–255 visible ASCII characters without comma and quotes (K1). The browser half uses it, so nothing of Node may stand here. */
export function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^[!#-&(-+\--~]{1,255}$/.test(value);
}

/** One text for a key in its scope, that no other one has: the lengths before it say where each part ends. */
export function nameOf({ tenant, principal, operation, key }: KeyId): string {
  return `${tenant.length}:${principal.length}:${operation.length}:${tenant}${principal}${operation}${key}`;
}

/** Each part with how many characters it may have, and what to do where it cannot be used. */
const PARTS = [
  ['tenant', 255, 'Name the owner of the data, or leave `tenant` out where there is only one.'],
  [
    'principal',
    255,
    'Let `scope` return { principal: … } with a string, of a number String(id), and null where nobody is signed in.',
  ],
  ['operation', 100, 'Give the operation a shorter name.'],
] as const;

/** Throws `ConfigurationError` for a part that is empty, too long or could collide with another in the database. */
export function assertScope(scope: Scope): void {
  for (const [name, limit, advice] of PARTS) {
    assertStorableName(scope[name], limit, `The scope's ${name} cannot be used. ${advice}`);
  }
}

/** Throws `ConfigurationError` with that message for what a text column of so many characters does not take as it is. */
export function assertStorableName(value: unknown, limit: number, message: string): asserts value is string {
  const isText = typeof value === 'string';
  const fits = isText && value !== '' && (value.length <= limit || [...value].length <= limit);
  if (fits && value.isWellFormed() && !value.includes('\0')) return;
  throw new ConfigurationError(message, {
    existing: isText ? `a string of ${value.length} characters` : typeof value,
    expected: `1 to ${limit} characters of well-formed Unicode without NUL`,
  });
}
