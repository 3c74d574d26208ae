/**
 * `tsx scripts/db-make-migration.ts <name>`: writes what the models in prisma/ have and the migrations lack into a new
 * migration. Builds the migrations in a throw-away database, beside DATABASE_URL's or on the tests' PostgreSQL.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { migrate, migrationsFolder, schemaDifference } from './services/migrate.ts';
import { startPostgres } from './services/postgres.ts';

const name = process.argv[2];
if (!name || !/^[a-z0-9_]+$/.test(name)) {
  console.error('Usage: tsx scripts/db-make-migration.ts <name>   (small letters, digits and _)');
  process.exit(1);
}

const server = process.env.DATABASE_URL ? undefined : await startPostgres({ name: 'test' });
try {
  const sql = await missingSql(process.env.DATABASE_URL ?? (server?.url as string));
  if (!sql) {
    console.log('The migrations already say what the models say.');
  } else {
    const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
    const folder = path.join(migrationsFolder, `${stamp}_${name}`);
    await mkdir(folder);
    await writeFile(path.join(folder, 'migration.sql'), sql);
    console.log(`Wrote ${path.relative('.', folder)}/migration.sql. Read it, and add the CHECKs Prisma does not know.`);
  }
} finally {
  await server?.stop();
}

async function missingSql(serverUrl: string): Promise<string> {
  const scratch = `oncekit_scratch_${randomUUID().replaceAll('-', '')}`;
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  try {
    await admin.query(`CREATE DATABASE ${scratch}`);
    const url = Object.assign(new URL(serverUrl), { pathname: scratch }).href;
    await migrate(url);
    return await schemaDifference(url);
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${scratch} WITH (FORCE)`);
    await admin.end();
  }
}
