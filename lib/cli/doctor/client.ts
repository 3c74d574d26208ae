import { PLACE } from '../../store/prisma/keys/claim-check.ts';
import type { Rename } from '../../store/prisma/tables.ts';
import type { TriedClaim } from '../../store/store.ts';
import { reasonOf, type Sql } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';
import { checkTransaction } from './transaction.ts';

const check = checkNamed('Client');

/**
 * Checks that the app's own client can do what an execution does, at the database of all other checks:
 * doctor's connection is DATABASE_URL's, and says nothing of an address or a role that the client was given by itself.
 */
export async function checkClient(
  sql: Sql,
  tryClaim: () => Promise<TriedClaim>,
  rename: Rename = (text) => text,
): Promise<Finding[]> {
  let tried: TriedClaim;
  try {
    tried = await tryClaim();
  } catch (error) {
    return [
      check.problem(
        `The app's client gets no answer: ${reasonOf((error as Error).cause ?? error)}.`,
        'Give it the address that works here: connectionString: process.env.DATABASE_URL.',
      ),
    ];
  }
  const [{ place, database }] = (await sql.query(rename(PLACE))).rows as [Pick<TriedClaim, 'place' | 'database'>];
  if (tried.place !== place) {
    const says =
      tried.database === database
        ? "The app's client does not see the tables that DATABASE_URL leads to: it has another server or schema."
        : `The app's client is on the database ${tried.database}, and DATABASE_URL leads to ${database}.`;
    return [check.problem(says, 'Give the client the same address: connectionString: process.env.DATABASE_URL.')];
  }
  // That the tables are missing is said by the check of the migrations.
  const claim = tried.keyTable === null ? [] : [checkClaim(tried)];
  return [...claim, checkTransaction(tried), ...(tried.readsStandby ? [readsStandby] : [])];
}

const readsStandby = checkNamed('Reads').warning(
  "The app's own reads go to a standby, which may not have yet what was just answered. The kit asks the primary.",
  'Read by client.$primary() what a page shows behind a submit.',
);

function checkClaim({ refused, user, lacking, keyTable, readOnlyBy, quotedDatabase }: TriedClaim): Finding {
  if (refused?.state === '25006') {
    return check.problem(
      "The app's client may only read: its transactions are read-only by default.",
      readOnlyBy
        ? withoutReadOnly(readOnlyBy, user, quotedDatabase)
        : 'Let DATABASE_URL lead to the primary, in a session that may write.',
    );
  }
  if (refused?.state === '42P10') {
    return check.problem(
      'The key table has lost its primary key, so no key can be claimed.',
      `ALTER TABLE ${keyTable} ADD PRIMARY KEY (key, operation, principal, tenant)`,
    );
  }
  if (lacking.length > 0) {
    return check.problem(
      `The app's client acts as ${user}, who may not read and write ${lacking.join(', ')}.`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${lacking.join(', ')} TO ${user}`,
    );
  }
  if (refused) {
    return check.problem(
      `A claim of a key fails: ${reasonOf({ message: refused.says })}.`,
      'Compare the tables with the migrations that npx oncekit init has written.',
    );
  }
  return check.ok('It claims keys where DATABASE_URL leads (tried, and rolled back).');
}

/** The place of the setting, by `pg_settings.source`. */
function withoutReadOnly(source: string, user: string, database: string): string {
  const reset = 'RESET default_transaction_read_only';
  if (source === 'user') return `ALTER ROLE ${user} ${reset}`;
  if (source === 'database') return `ALTER DATABASE ${database} ${reset}`;
  if (source === 'database user') return `ALTER ROLE ${user} IN DATABASE ${database} ${reset}`;
  if (source === 'client') return "Take default_transaction_read_only out of the connection's options.";
  return "ALTER SYSTEM RESET default_transaction_read_only, or mend it in the server's configuration, and reload it.";
}
