import { cp, link, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

interface Locked {
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}
type Lock = { lockfileVersion: number; packages: Record<string, Locked> };

/**
 * Gives an app what `npm install` would put there, from what our own `npm ci` has put here: a lockfile with those
 * packages, and their files, each package in a folder of the app's own. Only for what npm would fetch as it is, never
 * for the kit, which npm installs from its tarball: 40 s of unpacking become 2.
 *
 * @param kit the packages that the kit itself brings along
 */
export async function linkInstalledPackages(app: string, kit: Record<string, string>): Promise<void> {
  const { lockfileVersion, packages } = JSON.parse(
    await readFile(path.join(ROOT, 'package-lock.json'), 'utf8'),
  ) as Lock;
  const manifest = JSON.parse(await readFile(path.join(app, 'package.json'), 'utf8'));
  const { name, version, dependencies, devDependencies } = manifest;
  const linked = neededBy(
    { dependencies: { ...kit, ...dependencies }, optionalDependencies: devDependencies },
    packages,
  );
  const taken = Object.fromEntries([...linked].sort().map((place) => [place, packages[place] as Locked]));
  const root = { name, version, dependencies, devDependencies };
  const lock = { name, version, lockfileVersion, requires: true, packages: { '': root, ...taken } };
  await writeFile(path.join(app, 'package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  for (const place of linked) await linkFolder(path.join(ROOT, place), path.join(app, place));
  await linkCommands(app, taken);
}

/** `npx` finds these. */
async function linkCommands(app: string, packages: Lock['packages']): Promise<void> {
  const folder = path.join(app, 'node_modules/.bin');
  await mkdir(folder, { recursive: true });
  for (const [place, { bin = {} }] of Object.entries(packages)) {
    if (place.lastIndexOf('node_modules/') > 0) continue;
    for (const [name, file] of Object.entries(bin)) {
      await symlink(path.join('..', path.relative('node_modules', place), file), path.join(folder, name)).catch(
        () => {},
      );
    }
  }
}

/** The places in node_modules that these need, their own needs included, as Node would find them. */
function neededBy(root: Locked, packages: Lock['packages']): Set<string> {
  const found = new Set<string>();
  const visit = (from: string, { dependencies, optionalDependencies, peerDependencies }: Locked) => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const place = placeOf(name, from, packages);
      // Packages that are optional, or made for another system, were not installed here either.
      if (place === undefined || found.has(place)) continue;
      found.add(place);
      visit(place, packages[place] as Locked);
    }
  };
  visit('', root);
  return found;
}

function placeOf(name: string, from: string, packages: Lock['packages']): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const place = path.posix.join(folder, 'node_modules', name);
    if (packages[place]) return place;
    if (folder === '') return undefined;
  }
}

/** Hard links where the file system has them: npm replaces a file, it never writes into one. */
async function linkFolder(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(() => undefined);
  if (!entries) return; // made for another system
  await mkdir(to, { recursive: true });
  for (const entry of entries) {
    if (entry.name === 'node_modules') continue; // places of their own
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) await linkFolder(source, target);
    else await link(source, target).catch(() => cp(source, target));
  }
}
