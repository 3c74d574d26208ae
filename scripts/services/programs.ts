/** Programs of the system that the tests need, by where they lie and what they say of themselves. */
import { execFile } from 'node:child_process';
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
