import { mintKey, type ParsedKey, parseKey, verifyKey } from '../core/key.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import { executedBy, type Proof } from '../core/proof.ts';
import { assertScope, type KeyId, type Principal, type Scope } from '../core/scope.ts';
import type { Secrets } from '../core/secrets.ts';
import type { Awaitable } from '../core/wait.ts';
import { assertSecret, type Config } from './config.ts';

/** Whose key it is, and the time it carries. */
export interface Identity {
  id: KeyId;
  /** Null for a key that was not minted here: its time, if it has one, is ignored. */
  mintedAt: Date | null;
}

/** Resolves who acts. Null: nobody. What the configured `scope` throws is thrown on. */
export function whoActs(config: Config, given: Principal | undefined): Awaitable<Principal | null> {
  assertSecret(config.secrets);
  return given ?? config.scope();
}

/** A fresh key for the next intent of this principal. */
export function mintFor(config: Config, operation: string, who: Principal): string {
  assertSecret(config.secrets);
  const scope = scopeOf(operation, who, who.principal);
  assertScope(scope);
  return mintKey(config.clock(), scope, config.secrets.first);
}

/** The key as a log may hold it: what is no key could hold line breaks, and be of any length. */
export function loggedKey(key: unknown): string {
  return typeof key === 'string' && parseKey(key).shape !== 'malformed' ? key : '(no key)';
}

/** Checks the key's syntax (K1), without asking who acts or touching the database. */
export function readKey(
  key: string | null | undefined,
  proof: Proof = 'none',
): { parsed: ParsedKey } | { refusal: Refusal } {
  const executed = executedBy(proof);
  if (key === null || key === undefined || key === '') return { refusal: refuse('key_missing', { executed }) };
  // An action can be called with anything, whatever its types say.
  const parsed: ParsedKey = typeof key === 'string' ? parseKey(key) : { shape: 'malformed' };
  return parsed.shape === 'malformed' ? { refusal: refuse('key_malformed', { executed }) } : { parsed };
}

/**
 * Finds the scope a key belongs to: the principal's own, or that of an alias it was signed for (K2). Undefined when
 * the signature fits none of them, or when only minted keys are accepted and this is none.
 */
export function identify(
  key: string,
  parsed: ParsedKey,
  operation: string,
  who: Principal,
  { secrets, acceptKeys }: { secrets: Secrets; acceptKeys: 'minted' | 'any' },
): Identity | undefined {
  const own = scopeOf(operation, who, who.principal);
  assertScope(own);
  if (parsed.shape === 'signed' && secrets.first) {
    const scopes = [own, ...(who.aliases ?? []).map((alias) => scopeOf(operation, who, alias))];
    const scope = scopes.find((candidate) => verifyKey(parsed, candidate, secrets.all));
    return scope && { id: { ...scope, key }, mintedAt: parsed.mintedAt };
  }
  if (acceptKeys === 'minted' && secrets.first) return undefined;
  const minted = parsed.shape === 'unsigned' && !secrets.first;
  return { id: { ...own, key }, mintedAt: minted ? parsed.mintedAt : null };
}

function scopeOf(operation: string, { tenant }: Principal, principal: string): Scope {
  return { tenant, principal, operation };
}
