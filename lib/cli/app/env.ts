import { existsSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../command.ts';

/** Reads the variables as Next.js does: `.env.local` before `.env`, and what is set already wins over both. */
export function loadEnv(root: string): void {
  for (const name of ['.env.local', '.env']) {
    const file = path.join(root, name);
    if (existsSync(file)) process.loadEnvFile(file);
  }
}

/** @throws CliError where it is not set, or is no address of a PostgreSQL */
export function databaseUrl(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const { DATABASE_URL: url } = env;
  const example = 'DATABASE_URL="postgresql://user:password@localhost:5432/shop"';
  if (!url) throw new CliError('DATABASE_URL is not set.', `Add it to .env: ${example}`);
  if (/^prisma(\+postgres)?:/.test(url)) {
    throw new CliError("DATABASE_URL is an address of Prisma's own service.", `Use the database's own: ${example}`);
  }
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new CliError('DATABASE_URL is no address of a PostgreSQL.', `Write it so: ${example}`);
  }
  return url;
}
