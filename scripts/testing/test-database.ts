import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { type Client, createClient } from '../../shop/db.ts';

/** Names that the tests' setup shares with this file: what is cloned, and how clones are called. */
export const templateName = 'oncekit_template';
export const testDatabasePrefix = 'oncekit_test_';
/** Owns no table, and may do what docs/deployment.md grants. Its password is its name. */
export const appRole = 'oncekit_test_app';

export type TestDatabase = { url: string; client: Client; drop(): Promise<void> };

/**
 * A database of its own for one test file: migrated and seeded, nobody else's rows in it. Cloned from the template
 * that the global setup has built (about 50 ms). `max` is the pool size of `client`. `ownsTables`: for tests that change
 * tables, roles or settings; all others act under ROLE=app as a role with the rights of docs/deployment.md. Call `drop` in `afterAll`; what
 * is left over by a killed run goes at the next one's start.
 */
export async function testDatabase({
  max,
  ownsTables = false,
}: {
  max?: number;
  ownsTables?: boolean;
} = {}): Promise<TestDatabase> {
  const name = `${testDatabasePrefix}${randomUUID().replaceAll('-', '')}`;
  await onServer((server) => server.query(`CREATE DATABASE ${name} TEMPLATE ${templateName}`));
  const role = process.env.ROLE === 'app' && !ownsTables ? { username: appRole, password: appRole } : {};
  const url = Object.assign(new URL(serverUrl()), { pathname: name }, role).href;
  const client = createClient(url, { max });
  return {
    url,
    client,
    async drop() {
      await client.$disconnect();
      await onServer(async (server) => {
        await untilNobodyIsConnected(server, name);
        // FORCE: a connection that a test forgot must not keep the database.
        await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      });
    },
  };
}

/**
 * A pool's `end()` resolves before its sockets are closed. A connection that is terminated in that moment reports an
 * error that nobody listens for any more. Gives up on one that a test forgot.
 */
async function untilNobodyIsConnected(server: pg.Client, name: string): Promise<void> {
  for (let looks = 0; looks < 100; looks++) {
    const { rows } = await server.query('SELECT FROM pg_stat_activity WHERE datname = $1 LIMIT 1', [name]);
    if (rows.length === 0) return;
    await wait(20);
  }
}

async function onServer<T>(use: (server: pg.Client) => Promise<T>): Promise<T> {
  const server = new pg.Client({ connectionString: serverUrl() });
  await server.connect();
  try {
    return await use(server);
  } finally {
    await server.end();
  }
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url) throw new Error('TEST_DATABASE_URL is not set. Run the tests with `npm test`, whose global setup sets it.');
  return url;
}
