import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { startPostgres } from '../../services/postgres.ts';

export interface Server {
  /** An empty database of its own, gone with the server or at `stop`. Resolves with its URL. */
  database(): Promise<string>;
  stop(): Promise<void>;
}

/** DATABASE_URL's server where it is set, else the clone's own. */
export async function startServer(): Promise<Server> {
  const own = process.env.DATABASE_URL ? undefined : await startPostgres({ name: 'test' });
  const url = process.env.DATABASE_URL ?? (own?.url as string);
  const names: string[] = [];
  return {
    database: async () => {
      const name = `oncekit_pack_${randomUUID().replaceAll('-', '')}`;
      await query(url, `CREATE DATABASE ${name}`);
      names.push(name);
      return Object.assign(new URL(url), { pathname: name }).href;
    },
    stop: async () => {
      for (const name of names) await query(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await own?.stop();
    },
  };
}

/** Runs one statement over a connection of its own. Resolves with its rows. */
export async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
