import { readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { command } from './commands.ts';
import type { Packing } from './report.ts';
import { ownPackage, packKit, type Tarball } from './tarball.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** All that may be in the package. */
const WANTED = [
  /^(package\.json|LICENSE|llms\.txt|(README|CHANGELOG|ARCHITECTURE)\.md)$/,
  /^docs\/(([a-z]+\/)?[\w-]+\.md|observability\/[\w-]+\.(yml|json))$/,
  /^dist\/([a-z-]+\/)*[a-z0-9-]+\.(js|d\.ts)$/,
  /^prisma\/(idempotency|messaging)\.prisma$/,
  /^prisma\/kit\/\d{4}_[a-z_]+\.sql$/,
];
/** Of dist/, what must not be: the demo, its database client, tests. */
const UNWANTED = /\.(test|testsuite|fixture|child|test-d)\./;
const MODELS = ['prisma/idempotency.prisma', 'prisma/messaging.prisma'];
/** The kit's part of an app's installation. In kB; raise them with a reason (last: how often a key was answered again). */
const MOST = { packedKb: 965, unpackedKb: 2975 };

/** Builds, packs and looks at what is in the tarball. Undefined where there is none. */
export async function checkTarball({ report, signal, isThorough }: Packing): Promise<Tarball | undefined> {
  let tarball: Tarball | undefined;
  await report.section('The package', async () => {
    const packed = await report.check('the kit is built and packed', () => packKit(signal, { isChecked: !isThorough }));
    tarball = packed;
    await report.alone('holds what is needed, and nothing of the demo or the tests', () =>
      holdsOnlyWhatIsNeeded(packed),
    );
    await report.alone(`is small (${kB(packed.packed)} packed, ${kB(packed.unpacked)} unpacked)`, () =>
      isSmall(packed),
    );
    await report.alone('no file of it has side effects', () => hasNoSideEffects(packed));
    await report.alone('its types need no package that an app may do without', () => typesNeedNoPeer());
    if (!isThorough) return;
    await report.alone('publint has nothing against it', () => lintPackage(packed));
    await report.alone('its types resolve (arethetypeswrong)', () => resolvesEverywhere(packed, signal));
  });
  return tarball;
}

const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`;

function holdsOnlyWhatIsNeeded({ files }: Tarball): void {
  const strange = files.filter(({ path }) => !WANTED.some((one) => one.test(path)) || UNWANTED.test(path));
  if (strange.length > 0) throw new Error(`These do not belong into the package:\n${paths(strange)}`);
  for (const wanted of [
    'README.md',
    'LICENSE',
    'llms.txt',
    'docs/quick-start.md',
    'docs/reference/oncekit.md',
    ...MODELS,
  ]) {
    if (!files.some(({ path }) => path === wanted)) throw new Error(`The package lacks ${wanted}.`);
  }
}

function isSmall({ packed, unpacked }: Tarball): void {
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
async function hasNoSideEffects({ files }: Tarball): Promise<void> {
  const { sideEffects } = await ownPackage();
  if (sideEffects === false) return;
  if (!Array.isArray(sideEffects)) throw new Error('package.json says nothing of side effects.');
  const globs = sideEffects.map(patternOf);
  const kept = files.filter(({ path }) => globs.some((glob) => glob.test(path)));
  if (kept.length > 0) throw new Error(`"sideEffects" names files of the package:\n${paths(kept)}`);
}

/**
 * The declarations of an entry lead to no optional peer, but for the one that the entry is there for: an app without it, which
 * checks the types of its libraries, would not compile.
 */
async function typesNeedNoPeer(): Promise<void> {
  const { exports, peerDependenciesMeta } = await ownPackage();
  const wrong: string[] = [];
  for (const entry of Object.keys(exports).filter((name) => name !== './package.json')) {
    const isFor = ENTRY_PEERS[entry] ?? [];
    for (const [file, names] of await declarationsOf(path.join(ROOT, 'dist', entry, 'index.d.ts'))) {
      const peers = names.filter((name) => name in peerDependenciesMeta && !isFor.includes(name));
      wrong.push(...peers.map((name) => `oncekit${entry.slice(1)}: ${path.relative(ROOT, file)} needs ${name}`));
    }
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/** Optional peers, by the entry that is of no use without them. Next.js brings React. */
const ENTRY_PEERS: Record<string, string[]> = {
  './next': ['next', 'react'],
  './react': ['react'],
  './adapter-pg': ['@prisma/adapter-pg'],
};

/** A declaration file and all that it leads to, each with the packages that it names. */
async function declarationsOf(entry: string): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const visit = async (file: string): Promise<void> => {
    if (found.has(file)) return;
    const names = ts.preProcessFile(await readFile(file, 'utf8')).importedFiles.map(({ fileName }) => fileName);
    found.set(file, names);
    for (const name of names.filter((each) => each.startsWith('.'))) {
      await visit(path.resolve(path.dirname(file), name.replace(/(\.d)?\.(tsx?|js)$/, '.d.ts')));
    }
  };
  await visit(entry);
  return found;
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

/** publint, its suggestions included. */
async function lintPackage({ file }: Tarball): Promise<void> {
  const tarball = await readFile(file);
  const buffer = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: buffer as ArrayBuffer }, strict: true });
  if (messages.length === 0) return;
  throw new Error(messages.map((message) => formatMessage(message, pkg)).join('\n'));
}

/**
 * arethetypeswrong, by the profile `esm-only`: the package is ES modules alone, which every Node that it runs on can
 * also `require`. The resolution of Node 10 knows no `exports`, and has no Node to run on.
 */
async function resolvesEverywhere({ file }: Tarball, signal: AbortSignal): Promise<void> {
  const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
  const program = path.join(path.dirname(cli), 'dist/index.js');
  const args = [file, '--profile', 'esm-only', '--format', 'table-flipped', '--no-emoji', '--no-color'];
  await command([process.execPath, program, ...args], { cwd: ROOT, signal });
}
