import path from 'node:path';
import { CliError } from '../command.ts';
import { type FileTree, filesBelow } from './file-tree.ts';
import { type App, installed } from './next-app.ts';
import { withoutComments } from './source-text.ts';

const CONFIGS = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].flatMap((ending) => [
  `prisma.config.${ending}`,
  `.config/prisma.${ending}`,
]);
/** The paths at which Prisma looks by itself. */
const DEFAULTS = ['prisma/schema.prisma', 'schema.prisma', 'prisma/schema', 'prisma'];

/**
 * Finds the app's Prisma models and migrations.
 *
 * @returns `at`: a file, or the folder of several; `files`: every one of them; `migrations`: their folder, which may not exist yet
 * @throws CliError where there is no schema, or one that the kit cannot be added to
 */
export function findPrisma(tree: FileTree, packageJson: App['packageJson'], given?: string) {
  assertVersion(packageJson);
  const config = readConfig(tree);
  const named = given ?? config.schema ?? packageJson.prisma?.schema;
  const at = (named === undefined ? DEFAULTS : [clean(named)]).find((each) => filesOf(tree, each).length > 0);
  if (at === undefined && named !== undefined) {
    throw new CliError(`There is no Prisma schema at ${named}.`, 'Say where it is: --schema <path>.');
  }
  if (at === undefined) {
    throw new CliError(
      'There is no Prisma schema: neither prisma/schema.prisma nor a folder that prisma.config.ts names.',
      'Make one with: npx prisma init. If it is elsewhere, say where: --schema <path>.',
    );
  }
  const isFolder = !at.endsWith('.prisma');
  const files = filesOf(tree, at).map((file) => ({ file, content: tree.read(file) ?? '' }));
  assertPostgres(files);
  const folder = isFolder ? at : path.posix.dirname(at);
  const beside = path.posix.join(folder, 'migrations');
  const migrations = config.migrations
    ? clean(config.migrations)
    : ([beside, 'prisma/migrations'].find((each) => tree.list(each).length > 0) ?? beside);
  return { at, isFolder, files, migrations };
}

function filesOf(tree: FileTree, at: string): string[] {
  if (at.endsWith('.prisma')) return tree.read(at) === undefined ? [] : [at];
  return filesBelow(tree, at, /\.prisma$/);
}

/** Reads prisma.config.ts, as far as it has plain strings. */
function readConfig(tree: FileTree) {
  const source = withoutComments(CONFIGS.map((file) => tree.read(file)).find((text) => text !== undefined) ?? '');
  return {
    schema: stringBehind(/\bschema\s*:\s*/, source),
    migrations: stringBehind(/\bmigrations\s*:\s*\{[^}]*?\bpath\s*:\s*/, source),
  };
}

/** `'prisma'`, or the strings of `path.join('prisma', 'schema.prisma')` put together. */
function stringBehind(what: RegExp, source: string): string | undefined {
  const [, rest] = new RegExp(`${what.source}([\\s\\S]*)`).exec(source) ?? [];
  const value = /^(?:[\w.]+\(([^)]*)\)|(['"`][^'"`]*['"`]))/.exec(rest ?? '');
  const strings = [...(value?.[1] ?? value?.[2] ?? '').matchAll(/['"`]([^'"`]+)['"`]/g)].map(([, text]) => text ?? '');
  return strings.length > 0 ? strings.join('/') : undefined;
}

const clean = (name: string) => path.posix.normalize(name).replace(/\/$/, '');

function assertVersion(packageJson: App['packageJson']): void {
  const packages = installed(packageJson);
  const range = packages['@prisma/client'] ?? packages.prisma;
  const major = Number(/\d+/.exec(range ?? '')?.[0] ?? Number.NaN);
  if (!(major < 7)) return;
  throw new CliError(
    `oncekit needs Prisma 7, and package.json asks for ${range}.`,
    'Upgrade: npm install @prisma/client@7 @prisma/adapter-pg@7 && npm install --save-dev prisma@7.',
  );
}

function assertPostgres(files: readonly { content: string }[]): void {
  const text = files.map(({ content }) => withoutComments(content)).join('\n');
  const [, datasource] = /\bdatasource\s+\w+\s*\{([^}]*)\}/.exec(text) ?? [];
  const [, provider] = /\bprovider\s*=\s*"(\w+)"/.exec(datasource ?? '') ?? [];
  if (provider !== undefined && provider !== 'postgresql' && provider !== 'postgres') {
    throw new CliError(
      `oncekit needs PostgreSQL, and the Prisma schema says provider = "${provider}".`,
      'Its guarantee rests on how PostgreSQL lets one of two inserts wait for the other.',
    );
  }
  const [, schemas] = /\bschemas\s*=\s*\[([^\]]*)\]/.exec(datasource ?? '') ?? [];
  if (schemas !== undefined && !schemas.includes('"public"')) {
    throw new CliError(
      `The Prisma schema divides its tables among ${schemas.replaceAll('"', '')}, and the kit's tables are made in public.`,
      'Add "public" to `schemas`.',
    );
  }
}

/** The likely files, most likely first; below `src/` too. */
const LIKELY = 'lib/prisma lib/db lib/prisma/index lib/db/index server/db server/prisma db prisma'.split(' ');
const NAMES = ['prisma', 'db', 'client', 'prismaClient', 'database', 'default'];

/**
 * Finds the module that makes the app's client; undefined where none both makes and exports one.
 *
 * @returns its file, and the name under which it exports the client
 */
export function findClient(tree: FileTree) {
  const likely = LIKELY.flatMap((name) => ['', 'src/'].flatMap((src) => [`${src}${name}.ts`, `${src}${name}.tsx`]));
  for (const file of [...likely, ...filesBelow(tree, '', /(?<!\.d|\.test|\.spec)\.tsx?$/)]) {
    const exported = exportOf(tree.read(file));
    if (exported) return { file, exported };
  }
  return undefined;
}

function exportOf(text: string | undefined): string | undefined {
  if (!text?.includes('PrismaClient')) return undefined;
  const source = withoutComments(text);
  // A client that somebody else uses: a seed or a script makes its own, and exports none.
  if (!/\bnew\s+PrismaClient\b/.test(source)) return undefined;
  const declared = [...source.matchAll(/\bexport\s+(?:const|let|var)\s+(\w+)/g)].map(([, name]) => name ?? '');
  const listed = [...source.matchAll(/\bexport\s*\{([^}]*)\}/g)]
    .flatMap(([, names]) => (names ?? '').split(','))
    .map((one) => /\w+(?=\s*$)/.exec(one)?.[0] ?? '');
  const byDefault = /\bexport\s+default\b/.test(source) ? ['default'] : [];
  const exported = [...declared, ...listed, ...byDefault];
  return NAMES.find((name) => exported.includes(name));
}
