import { ConfigurationError } from '../core/errors.ts';
import { assertKnownOptions, type OptionNames } from '../core/options.ts';
import type { Scope } from '../core/scope.ts';
import type { TransactionSettings } from '../store/store.ts';

/** Says for whose transaction what is set in it. */
export type Begin = (asked: { scope: Scope }) => TransactionSettings;

const KNOWN: OptionNames<TransactionSettings> = { role: true, settings: true };

/**
 * What a transaction for that scope begins with, by the `begin` of its operation or of the kit.
 *
 * @throws ConfigurationError for what could not be set as it is meant, so that nobody's rows are seen by mistake; and what
 *   `begin` throws
 */
export function settingsFor(
  begin: Begin | undefined,
  { tenant, principal, operation }: Scope,
): TransactionSettings | undefined {
  if (!begin) return undefined;
  const set = begin({ scope: { tenant, principal, operation } });
  if (!isPlainData(set)) throw unusable(operation, set, 'an object, such as { role, settings }, and no promise of one');
  assertKnownOptions(`begin of ${operation}`, set, KNOWN);
  // PostgreSQL takes this name for no role at all.
  if ('role' in set && (!isText(set.role) || set.role === '' || set.role === 'none')) {
    throw unusable(operation, set.role, 'role: the name of a role');
  }
  if ('settings' in set) {
    if (!isPlainData(set.settings)) throw unusable(operation, set.settings, "settings: { 'app.tenant': scope.tenant }");
    for (const [name, value] of Object.entries(set.settings)) {
      if (!isText(value)) throw unusable(operation, value, `a string for the setting ${name}`);
    }
  }
  return set;
}

const isPlainData = (value: unknown): value is object => Object.prototype.toString.call(value) === '[object Object]';

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0');

const unusable = (operation: string, existing: unknown, expected: string) =>
  new ConfigurationError(`What begin of ${operation} returned cannot be set for a transaction.`, {
    existing: typeof existing === 'string' ? `a string of ${existing.length} characters` : typeof existing,
    expected,
  });
