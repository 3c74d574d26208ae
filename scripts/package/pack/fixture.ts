import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileChange } from '../../docs/diff.ts';
import { command } from './commands.ts';
import { linkInstalledPackages } from './package-links.ts';
import type { Context, Report } from './report.ts';
import { ownPackage, type Tarball } from './tarball.ts';

const LOCK = fileURLToPath(new URL('../../../package-lock.json', import.meta.url));

/**
 * A section in a folder of its own, outside the repository's tree: nothing above it may help an app to find what it has
 * not. Where something failed it stays, for whoever wants to look.
 */
export async function inFolder(report: Report, title: string, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'oncekit-pack-')));
  const failedBefore = report.failed;
  await report.section(title, () => work(folder));
  if (report.failed > failedBefore) return report.note(`It stays in ${folder}`);
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Writes texts into files, with the folders they need. */
export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** Adds packages to an app's package.json, in the versions that we use ourselves, or in a range that begins with them. */
export async function addPackages(
  app: string,
  wanted: { dependencies?: readonly string[]; devDependencies?: readonly string[] },
  range: '' | '^' = '',
): Promise<void> {
  const ours = await ownVersions();
  const manifest = await readJson(path.join(app, 'package.json'));
  for (const kind of ['dependencies', 'devDependencies'] as const) {
    for (const name of wanted[kind] ?? []) manifest[kind] = { ...manifest[kind], [name]: range + ours(name) };
  }
  await writeFile(path.join(app, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

async function ownVersions(): Promise<(name: string) => string> {
  const { packages } = await readJson(LOCK);
  return (name) => {
    const version = packages[`node_modules/${name}`]?.version;
    if (!version) throw new Error(`${name} is not installed here, so there is no version of it to take.`);
    return version;
  };
}

/** `npm install` in an app. Takes from npm's cache what it has, and asks the registry for the rest. */
export async function npmInstall(app: string, args: string[], signal: AbortSignal): Promise<string> {
  return command(['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', ...args], { cwd: app, signal });
}

// biome-ignore lint/suspicious/noExplicitAny: a file of npm's, whose form is npm's business
async function readJson(file: string): Promise<any> {
  return JSON.parse(await readFile(file, 'utf8'));
}

interface SetUp {
  /** By path. */
  files: Record<string, string>;
  dependencies: readonly string[];
  devDependencies: readonly string[];
}

/** An app as its people have it, with what we have installed ourselves, into which npm then installs the tarball. */
export async function setUp({ report, signal }: Context, app: string, tarball: Tarball, what: SetUp): Promise<void> {
  await writeFiles(app, what.files);
  await addPackages(app, what);
  await linkInstalledPackages(app, (await ownPackage()).dependencies);
  await report.check('npm installs the tarball', () => npmInstall(app, [tarball.file], signal));
}

/**
 * Applies the change as `patch` would: what the diff shows as unchanged or removed must stand in the file, word for
 * word. A diff that no longer fits what `init` writes, or what the form was, fails here.
 */
export async function applyChange(
  app: string,
  { file, before, after }: Pick<FileChange, 'file' | 'before' | 'after'>,
): Promise<void> {
  const target = path.join(app, file);
  if (!existsSync(target)) throw new Error(`${file} is to be changed, and there is no such file.`);
  const text = await readFile(target, 'utf8');
  const at = before === '' ? -1 : text.indexOf(before);
  if (at === -1) throw new Error(`The change does not fit ${file}. It wants:\n${before}\n\nThe file:\n${text}`);
  await writeFile(target, text.slice(0, at) + after + text.slice(at + before.length));
}
