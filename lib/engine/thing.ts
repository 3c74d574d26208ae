import { ConfigurationError } from '../core/errors.ts';
import { assertStorableName, type KeyId, type Principal } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { OperationOptions } from './definition.ts';

const MAX_LENGTH = 255;
const MAX_YEARS = 100;
/** An end that the database and JavaScript can both write as a date. */
const MAX_ONCE_FOR_MS = MAX_YEARS * 365 * 86_400_000;

/**
 * The thing that an operation does once for, by its `oncePer`; undefined where it names none.
 *
 * @throws ConfigurationError for what is no name of a thing; and what `oncePer` throws
 */
export function thingOfInput<Tx>(
  { oncePer }: Pick<OperationOptions<StandardSchema, Tx>, 'oncePer'>,
  { tenant, principal, operation }: KeyId,
  input: unknown,
): string | undefined {
  if (!oncePer) return undefined;
  const thing: unknown = oncePer({ input: input as never, scope: { tenant, principal, operation } });
  assertStorableName(thing, MAX_LENGTH, `oncePer of ${operation} has named no thing that can be stored.`);
  return thing;
}

/** How long a row is kept: at least for as long as its operation holds a thing. */
export function retentionOf<Tx>(
  { onceForMs = 0 }: Pick<OperationOptions<StandardSchema, Tx>, 'onceForMs'>,
  retentionMs: number,
): number {
  return Math.max(retentionMs, onceForMs);
}

/** @throws ConfigurationError for a time that is none, or that is about no thing */
export function assertOncePer<Tx>({
  name,
  oncePer,
  onceForMs,
}: Pick<OperationOptions<StandardSchema, Tx>, 'name' | 'oncePer' | 'onceForMs'>): void {
  if (onceForMs === undefined) return;
  if (onceForMs > MAX_ONCE_FOR_MS) {
    throw new ConfigurationError(`onceForMs of ${name} is longer than ${MAX_YEARS} years.`, {
      existing: onceForMs,
      expected: `at most ${MAX_ONCE_FOR_MS} milliseconds`,
    });
  }
  if (oncePer && Number.isFinite(onceForMs) && onceForMs > 0) return;
  throw new ConfigurationError(`onceForMs of ${name} cannot be used.`, {
    existing: oncePer ? onceForMs : 'onceForMs without oncePer',
    expected: 'a number of milliseconds, and an oncePer that says for what',
  });
}

/** Tells whether a row is not the key's own, but of another key that holds its thing. */
export function isOfOtherKey(row: KeyId, id: KeyId): boolean {
  return row.key !== id.key || row.principal !== id.principal;
}

/** Tells whether a row is the caller's, under one of their names: what it says is told to nobody else. */
export function isTheirs({ tenant, principal }: KeyId, who: Principal): boolean {
  return tenant === who.tenant && (principal === who.principal || (who.aliases ?? []).includes(principal));
}
