import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownPackage, type Tarball } from './tarball.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** All that may be in the package. */
const WANTED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  /^dist\/([a-z-]+\/)*[a-z0-9-]+\.(js|d\.ts)$/,
  /^prisma\/(idempotency|messaging)\.prisma$/,
  /^prisma\/kit\/\d{4}_[a-z_]+\.sql$/,
];
/** Of dist/, what must not be: the demo, its database client, tests. */
const UNWANTED = /\.(test|testsuite|fixture|child|test-d)\./;
/** The kit's part of an app's installation. In kB; raise them with a reason. */
const MOST = { packedKb: 460, unpackedKb: 1425 };

export function holdsOnlyWhatIsNeeded({ files }: Tarball): void {
  const strange = files.filter(({ path }) => !WANTED.some((one) => one.test(path)) || UNWANTED.test(path));
  if (strange.length > 0) throw new Error(`These do not belong into the package:\n${paths(strange)}`);
  for (const wanted of ['README.md', 'LICENSE', 'prisma/idempotency.prisma', 'prisma/messaging.prisma']) {
    if (!files.some(({ path }) => path === wanted)) throw new Error(`The package lacks ${wanted}.`);
  }
}

export function isSmall({ packed, unpacked }: Tarball): void {
  const [packedKb, unpackedKb] = [packed, unpacked].map((bytes) => Math.round(bytes / 1000)) as [number, number];
  if (packedKb <= MOST.packedKb && unpackedKb <= MOST.unpackedKb) return;
  throw new Error(
    `${packedKb} kB packed (at most ${MOST.packedKb}), ${unpackedKb} kB unpacked (at most ${MOST.unpackedKb}).`,
  );
}

/** Each emitted file stands beside its declaration and comes from a source; no source is missing either way. */
export async function directivesStay({ files }: Tarball, kit: string): Promise<void> {
  const wrong: string[] = [];
  let clients = 0;
  for (const { path: name } of files.filter(({ path }) => /^dist\/.*\.js$/.test(path))) {
    const source = await sourceOf(name);
    const isClient = startsWithDirective(source);
    if (isClient) clients++;
    if (isClient !== startsWithDirective(await readFile(path.join(kit, name), 'utf8'))) wrong.push(name);
  }
  if (wrong.length > 0) throw new Error(`'use client' must come first here as in the source:\n${wrong.join('\n')}`);
  if (clients === 0) throw new Error("No file begins with 'use client'.");
}

async function sourceOf(emitted: string): Promise<string> {
  const source = path.join(ROOT, emitted.replace(/^dist/, 'lib').replace(/\.js$/, '.ts'));
  return readFile(source, 'utf8').catch(() => readFile(`${source}x`, 'utf8'));
}

const startsWithDirective = (code: string) => /^\s*'use client';/.test(code);

/** The command can be run where it lies, also by a shell. */
export async function commandRuns(kit: string): Promise<void> {
  const file = path.join(kit, 'dist/cli/oncekit.js');
  if (!(await readFile(file, 'utf8')).startsWith('#!/usr/bin/env node\n')) throw new Error(`${file} has no "#!" line.`);
  if (((await stat(file)).mode & 0o111) === 0) throw new Error(`${file} is not executable.`);
}

/** No file of the package is said to have side effects, so a bundler may drop each one that is not used. */
export async function hasNoSideEffects({ files }: Tarball): Promise<void> {
  const { sideEffects } = await ownPackage();
  if (sideEffects === false) return;
  if (!Array.isArray(sideEffects)) throw new Error('package.json says nothing of side effects.');
  const globs = sideEffects.map(patternOf);
  const kept = files.filter(({ path }) => globs.some((glob) => glob.test(path)));
  if (kept.length > 0) throw new Error(`"sideEffects" names files of the package:\n${paths(kept)}`);
}

/** `**` crosses folders, `*` does not, as bundlers read it. */
function patternOf(glob: string): RegExp {
  const escaped = glob.replace(/^\.\//, '').replace(/[.+^$()[\]{}|\\]/g, '\\$&');
  const pattern = escaped.replaceAll('**', '\0').replaceAll('*', '[^/]*').replaceAll('\0', '.*');
  return new RegExp(`^${pattern}$`);
}

function paths(files: { path: string }[]): string {
  return files.map(({ path }) => path).join('\n');
}
