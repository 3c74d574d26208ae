import { existsSync, readdirSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onPath, runVisibly, saysVersion } from './programs.ts';

const FOLDER = fileURLToPath(new URL('../../.data/pgbouncer/', import.meta.url));
const BY_HAND =
  'Install it (Debian: apt-get install pgbouncer; macOS: brew install pgbouncer; elsewhere: ' +
  'https://www.pgbouncer.org/install.html) or set PGBOUNCER_PATH to it.';
/** Debian's package puts it where only root's PATH leads; Homebrew's lies where a shell may not look. */
const SYSTEM = ['/usr/sbin/pgbouncer', '/opt/homebrew/bin/pgbouncer', '/usr/local/bin/pgbouncer'];

/** A PgBouncer, and what its process must be told to find its libraries. */
export interface PgBouncerProgram {
  path: string;
  env: Record<string, string>;
}

interface How {
  log?: (line: string) => void;
  /** Ends what is under way. */
  signal?: AbortSignal;
}

/**
 * The PgBouncer to test with: PGBOUNCER_PATH, then `pgbouncer` of the system, then our own. `undefined` when there is
 * none. Throws when PGBOUNCER_PATH names something else: falling back silently would test another one.
 */
export async function findPgBouncer(): Promise<PgBouncerProgram | undefined> {
  const asked = process.env.PGBOUNCER_PATH;
  if (asked) {
    const named = { path: asked, env: {} };
    if (await isPgBouncer(named)) return named;
    throw new Error(`PGBOUNCER_PATH is ${asked}, but that does not run as a pgbouncer. Correct or unset it.`);
  }
  const system = [...onPath('pgbouncer'), ...SYSTEM];
  for (const found of [...system.map((path) => ({ path, env: {} })), unpacked()]) {
    if (await isPgBouncer(found)) return found;
  }
  return undefined;
}

/** Like `findPgBouncer`, but throws where there is none. Installs nothing: several tests may ask at once. */
export async function thePgBouncer(): Promise<PgBouncerProgram> {
  const found = await findPgBouncer();
  if (found) return found;
  throw new Error(
    'No pgbouncer found. `npm test` unpacks one where there is apt-get, and so does ' +
      `\`node --import tsx scripts/services/pgbouncer-install.ts\`. ${BY_HAND}`,
  );
}

/** Like `findPgBouncer`, but installs one where there is none. Throws a sentence that says what to do. */
export async function ensurePgBouncer({ log = console.error, signal }: How = {}): Promise<PgBouncerProgram> {
  const found = await findPgBouncer();
  if (found) return found;
  const commands = installing(process.getuid?.() === 0);
  log(`No pgbouncer found. Unpacking one: ${commands.map((command) => command.join(' ')).join(' && ')}`);
  const fresh = `${FOLDER.slice(0, -1)}.new-${process.pid}`;
  try {
    await mkdir(fresh, { recursive: true });
    for (const command of commands) await runVisibly(command, { cwd: fresh, signal });
    await rm(FOLDER, { recursive: true, force: true });
    await rename(fresh, FOLDER);
  } catch (error) {
    signal?.throwIfAborted();
    log(error instanceof Error ? error.message : String(error));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  const installed = await findPgBouncer();
  if (installed) return installed;
  throw new Error(`No pgbouncer found, and unpacking one failed. ${BY_HAND}`);
}

/**
 * Debian's package, unpacked into our own folder: it needs no rights, and leaves no service running as an installed one
 * would. Its libraries come along, but libc, which must be the system's.
 */
export function installing(isRoot: boolean): string[][] {
  const libraries = `apt-cache depends pgbouncer | sed -n 's/^ *Depends: \\(lib[a-z].*\\)/\\1/p' | grep -v '^libc6'`;
  return [
    // Another apt-get may be running: wait for its lock instead of failing.
    ...(isRoot ? [['apt-get', '-o', 'DPkg::Lock::Timeout=300', 'update']] : []),
    // As root, apt-get would download as somebody else, who cannot write here, and warn of it.
    ['sh', '-c', `apt-get -o APT::Sandbox::User=root download pgbouncer $(${libraries})`],
    ['sh', '-c', 'for package in *.deb; do dpkg -x "$package" . || exit 1; done; rm ./*.deb'],
  ];
}

/** The result of `installing`. Its libraries lie in a folder that is named after the machine, such as x86_64-linux-gnu. */
function unpacked(): PgBouncerProgram {
  const folders = ['lib', 'usr/lib'].map((folder) => join(FOLDER, folder)).filter((folder) => existsSync(folder));
  const libraries = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.includes('-linux-'))
      .map((name) => join(folder, name)),
  );
  return { path: join(FOLDER, 'usr/sbin/pgbouncer'), env: { LD_LIBRARY_PATH: libraries.join(delimiter) } };
}

function isPgBouncer({ path, env }: PgBouncerProgram): Promise<boolean> {
  return saysVersion(path, /^PgBouncer \d/, env);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log((await ensurePgBouncer()).path);
