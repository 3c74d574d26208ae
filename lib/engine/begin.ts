import { isPlainObject } from '../core/data.ts';
import { ConfigurationError } from '../core/errors.ts';
import { assertKnownOptions, type OptionNames } from '../core/options.ts';
import type { Scope } from '../core/scope.ts';
import type { Setting } from '../store/store.ts';

/** What is set for the transactions of an execution. It ends with each of them. */
export interface TransactionSettings {
  /** The role that they run as, of which the client's own user is a member. Default: that user. */
  role?: string;
  /** Settings of your own, such as `'app.tenant'`, for policies that ask `current_setting`. */
  settings?: Readonly<Record<string, string>>;
}

export type Begin = (asked: { scope: Scope }) => TransactionSettings;

const KNOWN: OptionNames<TransactionSettings> = { role: true, settings: true };
/** PostgreSQL's own have no dot: they could undo the role, the durability, or the place of the kit's tables. */
const NAME = /^(?!oncekit\.)[a-z_][\w$]*(\.[a-z_][\w$]*)+$/i;

/**
 * What a transaction for that scope begins with, by the `begin` of its operation or of the kit: a copy, whatever becomes of what
 * `begin` returned.
 *
 * @throws ConfigurationError for what could not be set as it is meant, so that nobody's rows are seen by mistake; and what
 *   `begin` throws
 */
export function settingsFor(
  begin: Begin | undefined,
  { tenant, principal, operation }: Scope,
): readonly Setting[] | undefined {
  if (begin === undefined) return undefined;
  const unusable = (existing: unknown, expected: string) =>
    new ConfigurationError(`What begin of ${operation} says cannot be set for a transaction.`, {
      existing: typeof existing === 'string' ? `a string of ${existing.length} characters` : typeof existing,
      expected,
    });
  if (typeof begin !== 'function') throw unusable(begin, 'begin: ({ scope }) => ({ role, settings })');
  const given: unknown = begin({ scope: { tenant, principal, operation } });
  if (given instanceof Promise) given.catch(() => {}); // refused, whatever it comes to
  if (!isPlainObject(given)) throw unusable(given, 'an object, such as { role, settings }, and no promise of one');
  assertKnownOptions(`begin of ${operation}`, given, KNOWN);
  const { role, settings } = { settings: {}, ...given } as TransactionSettings;
  // PostgreSQL takes `none` for no role at all.
  if ('role' in given && (!isText(role) || role === 'none')) throw unusable(role, 'role: the name of a role');
  if (!isPlainObject(settings)) throw unusable(settings, "settings: { 'app.tenant': scope.tenant }");
  const set = Object.entries(settings);
  for (const [name, value] of set) {
    if (!NAME.test(name)) throw unusable(name, 'settings of your own, with a dot in the name, such as app.tenant');
    if (!isText(value)) throw unusable(value, `a text for the setting ${name}, and no empty one`);
  }
  return role === undefined ? set : [['role', role], ...set];
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.isWellFormed() && !value.includes('\0');
