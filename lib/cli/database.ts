import pg from 'pg';
import { errorLine } from '../core/printable.ts';
import { endWithin } from '../worker/pool.ts';
import { CliError } from './command.ts';

/** Parameters of an address whose value may have an `@`. */
const WITH_AT = 'user|password|host|options|(?:fallback_)?application_name|ssl\\w+';

/**
 * An `@` behind the first `/`, `?` or `#`: they end the host, and stand in the password here. But in a query behind a path it may
 * be in the value of a parameter.
 */
const CUT_SHORT = new RegExp(`^\\w+://[^/?#]*(/[^?]*@|/?\\?.*@|.*#.*@|/[^?]*\\?(.*&)?(?!(${WITH_AT})=)[^&]*@)`, 's');

/** Tells whether a part of the password is taken for something else, so that nothing of the address may be told. */
export const isCutShort = (url: string) => CUT_SHORT.test(url);

/**
 * @throws CliError for an address that does not say what was meant. Of the address it tells a file that cannot be read, and
 *   nothing else: any part may be of the password
 */
function assertAddress(url: string, from: string): void {
  let unusable: unknown;
  try {
    // `pg` reads a few more than URL does, and the files that an address names.
    if (!isCutShort(url) && new pg.Client({ connectionString: url })) return;
  } catch (error) {
    unusable = error;
  }
  if ((unusable as NodeJS.ErrnoException | undefined)?.syscall) {
    throw new CliError(
      `${from} cannot be used: ${errorLine(unusable)}.`,
      `Mend the path of sslrootcert, sslcert or sslkey in ${from}: it is looked for from the folder of the command.`,
    );
  }
  throw new CliError(
    `${from} cannot be read: a part of its password would be taken for something else.`,
    'Write in its user and password % as %25, / as %2F, ? as %3F, # as %23 and @ as %40.',
  );
}

/**
 * Does the work on a connection of our own, which it closes behind it.
 *
 * @param from where the address was said, for the fix
 */
export async function withDatabase<Result>(
  url: string,
  work: (sql: pg.Client) => Promise<Result>,
  from = 'DATABASE_URL',
): Promise<Result> {
  assertAddress(url, from);
  const sql = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 15_000, // a starved process needs some itself
    query_timeout: 15_000,
    application_name: 'oncekit',
  });
  sql.on('error', () => {}); // said by the query that needs it
  try {
    await sql.connect().catch((error) => {
      throw new CliError(`No database answers at ${withoutPassword(url)}: ${errorLine(error)}.`, fixFor(error, from));
    });
    return await work(sql);
  } finally {
    await endWithin(sql);
  }
}

/** A check asks the database through it. The rows are as `pg` reads them. */
export interface Queryable {
  // biome-ignore lint/suspicious/noExplicitAny: each statement knows its own columns.
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
}

/** The address without what nobody should read over a shoulder or in a log. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'the address';
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

function fixFor(error: unknown, from: string): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (/no pg_hba.conf entry .*no encryption/.test(message)) return `Add sslmode=verify-full to ${from}.`;
  if (/no pg_hba.conf entry/.test(message)) return 'Let the server take this address: an entry in its pg_hba.conf.';
  if (code === '28P01' || code === '28000' || /password|SASL/i.test(message))
    return `Mend the user or password in ${from}.`;
  if (code === '3D000') return `Make the database (createdb), or mend its name in ${from}.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `Mend the host in ${from}.`;
  if (code === '53300') return 'Lower the pool sizes, or raise max_connections.';
  if (/does not support SSL/i.test(message)) return `Take sslmode out of ${from}.`;
  if (/altname|does not match certificate/i.test(message))
    return `Write the host in ${from} as the certificate has it.`;
  if (/certificate/i.test(message)) return `Add sslrootcert=<the file of the authority's certificate> to ${from}.`;
  return `Start PostgreSQL, or mend the host and port in ${from}.`;
}

/** A fault of the database in a sentence, told by its name: the app may load another copy of the kit. Other errors as they are. */
export function explainFault(error: unknown, fix: string): unknown {
  const { name, cause } = error as { name?: string; cause?: unknown };
  if (name !== 'DriverAdapterError' && name !== 'StoreUnavailableError') return error;
  return new CliError(`The database could not do it: ${errorLine(cause ?? error)}.`, fix);
}
