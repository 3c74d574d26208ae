import { assertStorableName, type KeyId, type Principal } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { OperationOptions } from './definition.ts';

const MAX_LENGTH = 255;

/**
 * The thing that an operation does once for, by its `oncePer`; undefined where it names none, for this input or at all.
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
  if (thing === undefined) return undefined;
  assertStorableName(thing, MAX_LENGTH, `oncePer of ${operation} has named no thing that can be stored.`);
  return thing;
}

/** How long a row is kept: at least for as long as its operation holds a thing, unless that outlives it. */
export function retentionOf<Tx>(
  { holdFor = 0 }: Pick<OperationOptions<StandardSchema, Tx>, 'holdFor'>,
  retentionMs: number,
): number {
  return holdFor === 'forever' ? retentionMs : Math.max(retentionMs, holdFor);
}

/** Tells whether a row is not the key's own, but of another key that holds its thing. */
export function isOfOtherKey(row: KeyId, id: KeyId): boolean {
  return row.key !== id.key || row.principal !== id.principal;
}

/** Tells whether a row is the caller's, under one of their names: what it says is told to nobody else. */
export function isTheirs({ tenant, principal }: KeyId, who: Principal): boolean {
  return tenant === who.tenant && (principal === who.principal || (who.aliases ?? []).includes(principal));
}
