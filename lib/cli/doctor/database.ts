import { SCHEMA_VERSIONS, versionOf } from '../../store/prisma/keys/schema.ts';
import { type Rename, TABLES_OF } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import type { Sql } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';

const SKEW_MS = 5000;
const WORST_SKEW_MS = 60_000;

/** The server itself: its version, its clock, and the connections that are left. */
export async function checkServer(sql: Sql): Promise<Finding[]> {
  return [await checkVersion(sql), await checkClock(sql), await checkConnections(sql)];
}

async function checkVersion(sql: Sql): Promise<Finding> {
  const check = checkNamed('Database');
  const { rows } = await sql.query(`SELECT current_setting('server_version_num')::int AS number,
    current_setting('server_version') AS name, pg_is_in_recovery() AS replica`);
  const { number, name, replica } = rows[0];
  const version = `PostgreSQL ${String(name).split(' ')[0]}`;
  if (number < 140_000) return check.problem(`${version} is too old.`, 'Upgrade to PostgreSQL 14 or newer.');
  if (replica)
    return check.problem(`${version} answers, but it is a replica.`, 'Let DATABASE_URL lead to the primary.');
  return check.ok(`${version} answers.`);
}

/** Keys carry the app's time and are judged by the database's (K3). */
async function checkClock(sql: Sql): Promise<Finding> {
  const check = checkNamed('Clock');
  const before = Date.now();
  const { rows } = await sql.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms');
  const skew = Math.round(Number(rows[0].ms) - (before + Date.now()) / 2);
  const apart = `The clocks of this machine and the database are ${(Math.abs(skew) / 1000).toFixed(1)} s apart.`;
  const fix = 'Let both machines set their clocks by NTP.';
  if (Math.abs(skew) >= WORST_SKEW_MS) {
    return check.problem(`${apart} From 5 min on, keys from the future are refused.`, fix);
  }
  return Math.abs(skew) >= SKEW_MS ? check.warning(apart, fix) : check.ok('App and database tell the same time.');
}

async function checkConnections(sql: Sql): Promise<Finding> {
  const check = checkNamed('Connections');
  const { rows } = await sql.query(`SELECT current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int AS most,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`);
  const { most, used } = rows[0];
  const says = `${used} of the server's ${most} connections are in use.`;
  // Counted with the one that asks. An instance of an app takes ten, unless it says otherwise.
  if (most - used >= 10) return check.ok(says);
  return check.warning(
    `${says} One more instance of the app may find none.`,
    'Lower the pools, or put PgBouncer in front.',
  );
}

/**
 * Checks that the kit's tables are there, as this version of the kit needs them. Those of messaging may all be missing.
 *
 * @param rename gives the tables the names that they have in this app
 */
export async function checkSchema(sql: Sql, rename: Rename = asIs): Promise<Finding[]> {
  const names = Object.values(TABLES_OF).flat();
  const { rows } = await sql.query(
    `SELECT name, to_regclass(called) IS NOT NULL AS reached,
       obj_description(to_regclass(called), 'pg_class') AS comment,
       (SELECT min(relnamespace::regnamespace::text) FROM pg_class WHERE relname = name AND relkind = 'r') AS elsewhere
     FROM unnest($1::text[], $2::text[]) AS tables (name, called)`,
    [names, names.map(rename)],
  );
  const found = new Map<string, Seen>(rows.map((row) => [row.name, row]));
  const keys = checkPart('keys', found);
  const hasMessaging = TABLES_OF.messaging.some((name) => found.get(name)?.reached);
  return hasMessaging ? [keys, checkPart('messaging', found)] : [keys];
}

const asIs: Rename = (name) => name;

interface Seen {
  reached: boolean;
  comment: string | null;
  elsewhere: string | null;
}

function checkPart(part: SchemaPart, found: Map<string, Seen>): Finding {
  const check = checkNamed(part === 'keys' ? 'Migrations' : 'Messaging');
  const tables: readonly string[] = TABLES_OF[part];
  const missing = tables.filter((name) => !found.get(name)?.reached);
  const newest = SCHEMA_VERSIONS[part];
  const init = part === 'keys' ? 'npx oncekit init' : 'npx oncekit init --messaging';
  if (missing.length > 0) {
    const elsewhere = missing.map((name) => found.get(name)?.elsewhere).find((schema) => schema);
    if (elsewhere) {
      return check.problem(
        `The table ${missing[0]} is in the schema ${elsewhere}, which the connection does not look into.`,
        `Add to DATABASE_URL: options=-c%20search_path%3D${elsewhere}`,
      );
    }
    const isAll = missing.length === tables.length;
    return check.problem(
      isAll ? "The kit's tables are not there." : `A table is missing: ${missing.join(', ')}.`,
      `${isAll ? `${init}, then ` : ''}npx prisma migrate deploy`,
    );
  }
  const version = versionOf(found.get(TABLES_OF[part][0])?.comment);
  if (Number.isNaN(version)) {
    return check.problem(
      `The tables do not say that the kit's migration made them; \`prisma db push\` makes them without their checks.`,
      `Drop them while they are empty, then ${init} and npx prisma migrate deploy.`,
    );
  }
  if (version < newest) {
    return check.problem(
      `The tables are of version ${version}, and this kit needs ${newest}.`,
      `${init}, then npx prisma migrate deploy`,
    );
  }
  if (version > newest) {
    return check.warning(
      `The tables are of version ${version}, and this kit knows ${newest}: another deploy is newer.`,
      'Install the same version of oncekit here.',
    );
  }
  return check.ok(`The tables are of version ${version}, as this kit needs them.`);
}
