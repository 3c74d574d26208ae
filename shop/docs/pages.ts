import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { docsAddresses, root } from './addresses.ts';
import { type Group, readGroups } from './groups.ts';
import { type Page, render } from './render.ts';

const INDEX = 'README.md';

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
