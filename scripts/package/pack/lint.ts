import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { command } from './command.ts';
import type { Tarball } from './tarball.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** publint, its suggestions included. */
export async function lintPackage({ file }: Tarball): Promise<void> {
  const tarball = await readFile(file);
  const buffer = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: buffer as ArrayBuffer }, strict: true });
  if (messages.length === 0) return;
  throw new Error(messages.map((message) => formatMessage(message, pkg)).join('\n'));
}

/**
 * arethetypeswrong, by the profile `esm-only`: the package is ES modules alone, which every Node that it runs on can
 * also `require`. The resolution of Node 10 knows no `exports`, and has no Node to run on.
 */
export async function resolvesEverywhere({ file }: Tarball, signal: AbortSignal): Promise<void> {
  const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
  const program = path.join(path.dirname(cli), 'dist/index.js');
  const args = [file, '--profile', 'esm-only', '--format', 'table-flipped', '--no-emoji', '--no-color'];
  await command([process.execPath, program, ...args], { cwd: ROOT, signal });
}
