/** Commands that a stranger types in the folder of an app. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { applyMigrations } from '../../services/migrate.ts';
import { command } from './command.ts';

type Environment = Record<string, string | undefined>;

/** `npx` with what is installed, never with what it would fetch. */
export async function npx(app: string, line: string[], signal: AbortSignal): Promise<string> {
  return command(['npx', '--no', ...line], { cwd: app, signal });
}

/** As `npx`, without the second that npm takes to start. */
export async function run(app: string, [name = '', ...args]: string[], signal: AbortSignal, env: Environment = {}) {
  return command([binOf(app, name), ...args], { cwd: app, env, signal });
}

/** In a workspace it lies further up. */
function binOf(folder: string, name: string): string {
  const bin = path.join(folder, 'node_modules/.bin', name);
  if (existsSync(bin)) return bin;
  const parent = path.dirname(folder);
  if (parent === folder) throw new Error(`There is no command ${name}.`);
  return binOf(parent, name);
}

/** By Prisma's CLI where it can fetch its engine; else by the same engine from npm, which keeps the same history. */
export async function migrate(app: string, databaseUrl: string, signal: AbortSignal): Promise<void> {
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: undefined };
  await run(app, ['prisma', 'migrate', 'deploy'], signal, env).catch(async (error: Error) => {
    if (!error.message.includes('binaries.prisma.sh')) throw error;
    await applyMigrations(databaseUrl, path.join(app, 'prisma'));
  });
}

/** It asks for the same engine, and does not use it: any program will do. */
export async function generate(app: string, signal: AbortSignal): Promise<void> {
  await run(app, ['prisma', 'generate'], signal, { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath });
}
