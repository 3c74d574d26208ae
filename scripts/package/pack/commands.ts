import { existsSync } from 'node:fs';
import path from 'node:path';
import { applyMigrations } from '../../services/migrate.ts';
import { spawnChild } from '../../services/process.ts';

interface CommandOptions {
  cwd: string;
  env?: Record<string, string | undefined>;
  signal: AbortSignal;
}

/**
 * Runs a program to its end, in a folder of somebody else's: without what npm and the tests have put into our own
 * environment. Resolves with what it wrote, both streams in one; rejects with that when it fails.
 */
export async function command(line: string[], { cwd, env = {}, signal }: CommandOptions): Promise<string> {
  signal.throwIfAborted();
  const [program = '', ...args] = line;
  const output: string[] = [];
  const child = spawnChild({
    name: program,
    command: program,
    args,
    cwd,
    env: { ...strangersEnvironment(), ...env },
    onLine: (text) => output.push(text),
    log: () => {},
  });
  signal.addEventListener('abort', child.stop);
  const code = await child.ended;
  signal.removeEventListener('abort', child.stop);
  signal.throwIfAborted();
  if (code !== 0) throw new Error([`${line.join(' ')}: ended with code ${code}`, ...output.slice(-60)].join('\n'));
  return output.join('\n');
}

/** Nothing of `npm run`, which would lead npm back to our own package.json, and nothing that the app has in its .env. */
export function strangersEnvironment(): Record<string, undefined | string> {
  const ours = Object.keys(process.env).filter((name) => /^npm_|^(NODE_ENV|NODE_OPTIONS|INIT_CWD|VITEST)$/i.test(name));
  const theirs = ['DATABASE_URL', 'IDEMPOTENCY_SECRET', 'CRON_SECRET', 'TEST_DATABASE_URL'];
  return { ...Object.fromEntries([...ours, ...theirs].map((name) => [name, undefined])), NEXT_TELEMETRY_DISABLED: '1' };
}

type Environment = Record<string, string | undefined>;

/** `npx` with what is installed, never with what it would fetch. */
export async function npx(app: string, line: string[], signal: AbortSignal): Promise<string> {
  return command(['npx', '--no', ...line], { cwd: app, signal });
}

/** A script of the app's own, with what stands in its .env. */
export async function tsx(app: string, file: string, signal: AbortSignal): Promise<string> {
  return command(['npx', 'tsx', '--env-file=.env', file], { cwd: app, signal });
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
