import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateSources } from '../../services/build-app.ts';
import { command } from './commands.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Tarball {
  /** Its path. */
  file: string;
  /** Its files, by path. */
  files: { path: string; size: number; mode: number }[];
  /** In bytes. */
  packed: number;
  unpacked: number;
}

/**
 * Builds the kit and packs it as `npm publish` would.
 *
 * @param isChecked its types have been: what is built is the same, in half the time
 */
export async function packKit(signal: AbortSignal, { isChecked }: { isChecked: boolean }): Promise<Tarball> {
  await generateSources({ log: () => {}, signal });
  const build = ['scripts/build-kit.ts', ...(isChecked ? ['--noCheck'] : [])];
  await command([process.execPath, '--import', 'tsx', ...build], { cwd: ROOT, signal });
  const folder = path.join(ROOT, '.data/pack');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const told = await command(['npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    signal,
  });
  const [packed] = JSON.parse(told.slice(told.search(/^\[/m)));
  return {
    file: path.join(folder, packed.filename),
    files: packed.files,
    packed: packed.size,
    unpacked: packed.unpackedSize,
  };
}

/** Our own package.json, as far as it is of use to others. */
export async function ownPackage(): Promise<{
  exports: Record<string, unknown>;
  sideEffects: boolean | string[];
  dependencies: Record<string, string>;
  /** Those that an app may do without. */
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  devDependencies: Record<string, string>;
}> {
  return JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
}
