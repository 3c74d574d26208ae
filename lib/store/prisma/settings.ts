import { ConfigurationError } from '../../core/errors.ts';
import type { TransactionSettings } from '../rows.ts';
import { serverMessage, sqlState } from './errors.ts';
import type { Statement } from './statement.ts';

const SET = 'SELECT set_config(name, value, true) FROM unnest($1::text[], $2::text[]) AS given (name, value)';

/** Goes with BEGIN: names and values are bound, never a part of the SQL. Undefined where nothing is to be set. */
export function settingsStatement({ role, settings = {} }: TransactionSettings): Statement | undefined {
  const set = Object.entries(role === undefined ? settings : { role, ...settings });
  if (set.length === 0) return undefined;
  return { text: SET, values: [set.map(([name]) => name), set.map(([, value]) => value)] };
}

/** A value, a name or a parameter that cannot be set; a right that is lacking, or a table that is not seen. */
const REFUSED = ['22023', '42602', '42704', '55P02', '42501', '42P01'];

/** What such a transaction was refused for, by an error that came before any code of the user's. Undefined: for something else. */
export function refusedSettings(error: unknown, { role }: TransactionSettings): ConfigurationError | undefined {
  if (!REFUSED.includes(sqlState(error) ?? '')) return undefined;
  return new ConfigurationError(
    "The database refuses a transaction that begins as `begin` says, or the kit's statements in it. See docs/row-level-security.md.",
    {
      existing: serverMessage(error),
      expected:
        role === undefined
          ? "settings that the client's own user may set"
          : `GRANT ${role} TO the client's own user, and the page's GRANTs TO ${role}`,
      cause: error,
    },
  );
}
