import { warnOnce } from '../core/environment.ts';
import { mintKey, type ParsedKey, parseKey, verifyKey } from '../core/key.ts';
import { executedBy, type Proof, type Refusal, refuse } from '../core/outcome.ts';
import {
  assertScope,
  type KeyId,
  type Principal,
  type PrincipalInput,
  principalOf,
  type Scope,
} from '../core/scope.ts';
import type { Secrets } from '../core/secrets.ts';
import { type Awaitable, proceed } from '../core/wait.ts';
import { assertSecret, type Config } from './config.ts';
import { beforeDeadline } from './deadline.ts';
import type { ExecuteRequest } from './definition.ts';

/** The key that a caller has sent, or the one that was minted for them, in the scope it belongs to. */
export interface ResolvedKey {
  id: KeyId;
  /** Null for a key that was not minted here: its time, if it has one, is ignored. */
  mintedAt: Date | null;
  /** A fresh key for the same principal's next intent. */
  nextKey: string;
  /** The caller, with their other names. */
  who: Principal;
}

interface KeyToResolve extends Pick<ExecuteRequest, 'key' | 'keyless' | 'scope' | 'acceptKeys'> {
  operation: string;
  /** Decides what a refusal may say of the effect. */
  proof: Proof;
  /** When the caller's time is up, in milliseconds of `performance.now()`. */
  deadline: number;
}

/**
 * Resolves the key of a call: its syntax (K1), who acts, and whether the key is theirs (K2), in this order (O1). A keyless
 * call gets a key of its own. Returns without waiting where the principal is known.
 *
 * @throws CodedError `unavailable` where `scope` has not answered before the deadline; and what `scope` throws
 */
export function resolveKey(config: Config, asked: KeyToResolve): Awaitable<ResolvedKey | Refusal> {
  const parsed = asked.keyless ? undefined : readKey(asked.key, asked.proof);
  const who = beforeDeadline(whoActs(config, asked.scope), asked.deadline);
  return proceed(who, (known) => resolveFor(known, parsed, config, asked));
}

function resolveFor(
  who: Principal | null,
  given: ParsedKey | Refusal | undefined,
  config: Config,
  { key: sent, operation, proof, acceptKeys = 'any' }: KeyToResolve,
): ResolvedKey | Refusal {
  const isRefused = given && 'ok' in given;
  if (!who) return isRefused ? given : refuse('unauthorized', { executed: executedBy(proof) });
  const nextKey = mintFor(config, operation, who);
  if (isRefused) return { ...given, nextKey };
  const key = given ? (sent as string) : mintFor(config, operation, who);
  const identity = identify(key, given ?? parseKey(key), operation, who, { secrets: config.secrets, acceptKeys });
  return identity ? { id: identity.id, mintedAt: identity.mintedAt, nextKey, who } : refuse('key_invalid', { nextKey });
}

/** Resolves who acts. Null: nobody. What the configured `scope` throws is thrown on. */
export function whoActs(config: Config, given: PrincipalInput | undefined): Awaitable<Principal | null> {
  assertSecret(config.secrets);
  return proceed(given ?? config.scope(), (who) => {
    if (who) return principalOf(who);
    if (who === undefined) warnOnce(config, 'principal', nothingReturned);
    return null;
  });
}

/** A `scope` without a `return` lets nobody in, and looks like one where nobody is signed in. */
const nothingReturned = () =>
  '`scope` returned undefined, which is taken for nobody. Is a `return` missing? Return { principal: … }, or null where nobody is signed in.';

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
export function readKey(key: string | null | undefined, proof: Proof = 'none'): ParsedKey | Refusal {
  const executed = executedBy(proof);
  if (key === null || key === undefined || key === '') return refuse('key_missing', { executed });
  // An action can be called with anything, whatever its types say.
  const parsed: ParsedKey = typeof key === 'string' ? parseKey(key) : { shape: 'malformed' };
  return parsed.shape === 'malformed' ? refuse('key_malformed', { executed }) : parsed;
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
): Pick<ResolvedKey, 'id' | 'mintedAt'> | undefined {
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
