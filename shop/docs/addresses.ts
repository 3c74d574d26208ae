import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Addresses } from './render.ts';

/** Where the demo is started from is the repository, for `next build`, `next start` and the tests alike. */
export const root = join(process.cwd(), 'docs');

/** The folders that are shown. The others (decisions, dashboards, pictures) are for those who read the repository. */
const FOLDERS = ['', 'errors', 'reference'];

/** Every file of docs/ that is shown, with its address. */
export async function docsAddresses(): Promise<Addresses> {
  const files = await Promise.all(FOLDERS.map(filesOf));
  return new Map(files.flat().map((file) => [file, join('/docs', file.replace(/(^|\/)README\.md$|\.md$/, ''))]));
}

async function filesOf(folder: string): Promise<string[]> {
  // A folder that is not there yet has no pages.
  const names = await readdir(join(root, folder)).catch(() => []);
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
}
