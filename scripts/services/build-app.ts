import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { distDirOf, envOf, nameOf, type Variant, variantOf } from '../../shop/variants.ts';
import { spawnChild } from './process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The files that a build is made of. A name that does not exist counts as empty: adding it later changes the hash. */
const SCHEMA = ['prisma', 'prisma.config.ts', 'package-lock.json'];
const REFERENCE = [
  ...['lib', 'tsconfig.json', 'package-lock.json'],
  ...['scripts/build-reference.ts', 'scripts/docs/reference.ts', 'scripts/package/public-exports.ts'],
];
const SOURCES = [
  ...['app', 'components', 'lib', 'shop', 'public', 'docs', ...SCHEMA],
  ...['next.config.ts', 'shop/variants.ts', 'postcss.config.mjs', 'tsconfig.json', 'package.json'],
  ...['proxy.ts', 'middleware.ts', 'instrumentation.ts', 'instrumentation-client.ts', '.env', '.env.production'],
];
/** Neither the app's sources nor, for `generated`, written by us. */
const LEFT_OUT = /\.(test|testsuite|test-d|fixture|child)\.tsx?$|^(shop\/generated|docs\/screenshots)\//;

export interface BuildOptions {
  log?: (line: string) => void;
  root?: string;
  /** Default: what the environment says. */
  variant?: Variant;
  /** Ends the tool that runs, and rejects. */
  signal?: AbortSignal;
}

/**
 * The production build of the app, in `.next` or in the variant's own folder: built when a source's content has changed
 * since the last one, else kept. Resolves with whether it had to build. Rejects with the compiler's output when the
 * build fails.
 */
export async function buildApp(options: BuildOptions = {}): Promise<boolean> {
  await generateSources(options);
  const variant = options.variant ?? variantOf(process.env);
  const folder = distDirOf(variant);
  const title = folder === '.next' ? 'Building the app' : `Building the app (${nameOf(variant)})`;
  return unlessFresh(options, SOURCES, `${folder}/oncekit-sources`, `${folder}/BUILD_ID`, () =>
    step(title, options, ['node_modules/next/dist/bin/next', 'build'], envOf(variant)),
  );
}

/**
 * What Git does not keep and a build is made of: Prisma's client in `shop/generated`, written again when the schema or the installed
 * packages have changed, and docs/reference, when a source of the kit has. Resolves with whether one was.
 */
export async function generateSources(options: BuildOptions = {}): Promise<boolean> {
  const hasNewClient = await unlessFresh(
    options,
    SCHEMA,
    'shop/generated/schema-hash',
    'shop/generated/prisma/client.ts',
    () => step('Generating the database client', options, ['node_modules/prisma/build/index.js', 'generate']),
  );
  const hasNewReference = await unlessFresh(
    options,
    REFERENCE,
    'docs/reference/sources-hash',
    'docs/reference/oncekit.md',
    () => step('Writing docs/reference', options, ['--import', 'tsx', 'scripts/build-reference.ts']),
  );
  return hasNewClient || hasNewReference;
}

async function unlessFresh(
  { root = ROOT }: BuildOptions,
  sources: string[],
  stamp: string,
  product: string,
  make: () => Promise<void>,
) {
  const stampFile = join(root, stamp);
  // Taken before the work: a file that changes meanwhile makes the next run build again.
  const hash = hashOf(root, sources);
  const fresh = existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash && existsSync(join(root, product));
  if (fresh) return false;
  rmSync(stampFile, { force: true }); // a failed attempt must not pass for the old product
  await make();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, hash);
  return true;
}

/** Over contents, not times: `git checkout` and `npm ci` touch times, and a rebuild takes most of a minute. */
function hashOf(root: string, sources: string[]): string {
  const hash = createHash('sha256');
  for (const file of sources.flatMap((source) => filesUnder(root, source)).sort()) {
    hash.update(`${file}\0`).update(
      createHash('sha256')
        .update(readFileSync(join(root, file)))
        .digest(),
    );
  }
  return hash.digest('hex');
}

function filesUnder(root: string, source: string): string[] {
  const path = join(root, source);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [source];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !LEFT_OUT.test(file));
}

/** Runs a tool with one line of progress; what it writes is shown only when it fails. */
async function step(
  title: string,
  { log = console.error, root = ROOT, signal }: BuildOptions,
  args: string[],
  more: Record<string, string> = {},
) {
  signal?.throwIfAborted();
  log(`${title} …`);
  const startedAt = performance.now();
  const output: string[] = [];
  // Next builds for production; NODE_ENV=test from a test runner would make something else of it.
  const env = { NODE_ENV: undefined, NEXT_TELEMETRY_DISABLED: '1', ...more };
  const onLine = (line: string) => output.push(line);
  const child = spawnChild({ name: title, command: process.execPath, args, cwd: root, env, onLine, log: () => {} });
  signal?.addEventListener('abort', child.stop);
  const code = await child.ended;
  signal?.removeEventListener('abort', child.stop);
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`${title} failed:\n${output.join('\n')}`);
  log(`${title} took ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}
