import { spawn } from 'node:child_process';

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
