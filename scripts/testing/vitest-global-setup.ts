/** Gives the tests a PostgreSQL and, on it, the template that each `*.db.test.ts` clones. */
import pg from 'pg';
import { grantsTo, TABLES } from '../../lib/store/prisma/tables.ts';
import { migrate } from '../services/migrate.ts';
import { startPostgres } from '../services/postgres.ts';
import { seed } from '../services/seed.ts';
import { appRole, templateName, testDatabasePrefix } from './test-database.ts';

/**
 * DATABASE_URL's server where it is set (PostgreSQL 14 or newer), else the clone's own, whose databases are in memory where `mayForget`
 * says so and there is plenty.
 */
export default async function setup({ mayForget = false } = {}): Promise<() => Promise<void>> {
  const own = process.env.DATABASE_URL ? undefined : await startPostgres({ name: 'test', mayForget });
  const url = process.env.DATABASE_URL ?? (own?.url as string);
  try {
    const release = await prepareTemplate(url);
    process.env.TEST_DATABASE_URL = url; // the workers are started after this, and inherit it
    return async () => {
      await release();
      await own?.stop();
    };
  } catch (error) {
    await own?.stop();
    throw error;
  }
}

/**
 * Builds the template database on a server afresh and drops the clones of earlier runs. The server is this run's
 * until the returned function is called; throws at once when another run has it.
 */
export async function prepareTemplate(serverUrl: string): Promise<() => Promise<void>> {
  const server = new pg.Client({ connectionString: serverUrl });
  server.on('error', () => {}); // a server that goes away mid-run is reported by the tests
  await server.connect();
  try {
    await takeServer(server);
    await dropLeftovers(server);
    await server.query(`CREATE DATABASE ${templateName}`);
    const url = Object.assign(new URL(serverUrl), { pathname: templateName }).href;
    await migrate(url);
    await seed(url);
    await grantToApp(url);
    // Cloning fails while anybody is connected to the original, and a connection closes a moment after we let it go.
    await server.query(`ALTER DATABASE ${templateName} WITH ALLOW_CONNECTIONS false`);
    await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [templateName]);
  } catch (error) {
    await server.end();
    throw error;
  }
  return () => server.end();
}

/** Gives a role that owns no table what docs/deployment.md says, and all of the demo's own tables. */
async function grantToApp(url: string): Promise<void> {
  const template = new pg.Client({ connectionString: url });
  await template.connect();
  try {
    const { rows } = await template.query(
      `SELECT string_agg(quote_ident(relname), ', ') AS own FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND relname <> ALL ($1)`,
      [TABLES.flatMap((table) => [table, `${table}_id_seq`])],
    );
    await template.query(
      `DO $$ BEGIN CREATE ROLE ${appRole} LOGIN PASSWORD '${appRole}'; EXCEPTION WHEN duplicate_object THEN END $$`,
    );
    for (const grant of [`GRANT ALL ON ${rows[0].own} TO ${appRole}`, ...grantsTo(appRole)])
      await template.query(grant);
  } finally {
    await template.end();
  }
}

/** A lock of the session, so that a killed run gives it back. Without it a second run would drop the first one's clones. */
async function takeServer(server: pg.Client): Promise<void> {
  const { rows } = await server.query(`SELECT pg_try_advisory_lock(hashtextextended('oncekit.test', 0)) AS ours`);
  if (rows[0].ours) return;
  throw new Error(
    'Another test run (npm test or the end-to-end tests) uses this database server. Wait until it has finished.',
  );
}

async function dropLeftovers(server: pg.Client): Promise<void> {
  const { rows } = await server.query(
    'SELECT datname FROM pg_database WHERE datname = $1 OR starts_with(datname::text, $2)',
    [templateName, testDatabasePrefix],
  );
  for (const { datname } of rows) await server.query(`DROP DATABASE ${datname} WITH (FORCE)`);
}
