import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Group, readGroups } from './groups.ts';
import { type Addresses, type Page, render } from './render.ts';

/** Where the demo is started from is the repository, for `next build`, `next start` and the tests alike. */
const root = join(process.cwd(), 'docs');
const INDEX = 'README.md';

/** The folders that are shown. The others (decisions, dashboards, pictures) are for those who read the repository. */
const FOLDERS = ['', 'errors', 'reference'];

/**
 * The page at `/docs/<path>`; null where there is none, whatever the path spells: it is only ever compared with the
 * names of the files that are there.
 */
export async function docsPage(path: readonly string[]): Promise<Page | null> {
  const addresses = await docsAddresses();
  const address = ['/docs', ...path].join('/');
  const file = [...addresses].find(([, one]) => one === address)?.[0];
  if (file === undefined || file === INDEX) return null;
  return render(await readFile(join(root, file), 'utf8'), file, addresses);
}

/** The list of all guides, in groups, as docs/README.md has it. */
export async function docsIndex(): Promise<{ title: string; lead: string; groups: Group[] }> {
  const addresses = await docsAddresses();
  return readGroups(await readFile(join(root, INDEX), 'utf8'), addresses);
}

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
