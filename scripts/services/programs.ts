/** Programs of the system that the tests need: finds them, and runs their installers. */
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The paths at which a shell would look for a program of this name. */
export function onPath(name: string): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name));
}

/** True for a program that says such a version: a path can be a stub, or lead to something else. */
export async function saysVersion(path: string, version: RegExp, env: Record<string, string> = {}): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 15_000, env: { ...process.env, ...env } });
    return version.test(stdout);
  } catch {
    return false;
  }
}

/**
 * Runs an installer. Rejects when it fails, or is ended. Its output goes to standard error: whoever reads our standard
 * output wants the installed program's path alone.
 */
export async function runVisibly(
  [command = '', ...args]: string[],
  { cwd, signal }: { cwd?: string; signal?: AbortSignal } = {},
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2], env, signal });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with code ${code}.`))));
  });
}
