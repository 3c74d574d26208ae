import { ConfigurationError } from '../../core/errors.ts';
import type { ExecuteOptions, RolledBack, Setting } from '../rows.ts';
import { serverMessage, sqlState } from './errors.ts';
import type { Statement } from './statement.ts';

const SET = 'SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS given (name, value)';

/** Goes with BEGIN: names and values are bound, never a part of the SQL. Undefined where nothing is to be set. */
export function settingsStatement(settings: readonly Setting[] = []): Statement | undefined {
  if (settings.length === 0) return undefined;
  return { text: SET, values: [settings.map(([name]) => name), settings.map(([, value]) => value)] };
}

/** The role is not there, it or the client's own user lacks a right, or it does not see the kit's tables. */
const REFUSED = ['22023', '42501', '42P01'];

/** The reason why a transaction that runs as a role was rolled back by a statement of the kit's. Undefined: another one. */
export function refusedRole({ error, at }: RolledBack, { begin = [] }: ExecuteOptions): ConfigurationError | undefined {
  const hasRole = begin.some(([name]) => name === 'role');
  if (!hasRole || at === 'run' || !REFUSED.includes(sqlState(error) ?? '')) return undefined;
  return new ConfigurationError(
    "The database refuses a statement of the kit's as the role that `begin` says, and everything was rolled back. See docs/row-level-security.md; npx oncekit doctor says whether its tables are there.",
    {
      existing: serverMessage(error),
      expected: "the client's own user as a member of the role, and the page's GRANTs for the role",
      cause: error,
    },
  );
}
