import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { command } from './command.ts';
import type { Report } from './report.ts';

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
