import path from 'node:path';
import { renamerOf, type Tables } from '../../store/prisma/tables.ts';
import { CliError } from '../command.ts';
import { type FileTree, moduleNames } from './file-tree.ts';
import { withoutComments } from './source-text.ts';

interface PackageJson {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  workspaces?: unknown;
  prisma?: { schema?: string };
  /**
   * The paths of the app's own modules, when they are not where `init` puts them, and the tables, when they have
   * names of their own: the same as `createIdempotency` is given.
   */
  oncekit?: { idempotency?: string; operations?: string; tables?: Tables };
}

/**
 * Finds out where the app lives: `router` is `app` or `src/app`, and `src` is `src/` where it lives there, else nothing.
 *
 * @throws CliError where this is no Next.js app with an app router
 */
export function findApp(tree: FileTree) {
  const packageJson = readPackageJson(tree);
  if (!packageJson) {
    throw new CliError('There is no package.json here.', 'Run it in the folder of your Next.js app.');
  }
  const isWorkspaces = packageJson.workspaces !== undefined || tree.read('pnpm-workspace.yaml') !== undefined;
  const router = ['app', 'src/app'].find((folder) => tree.list(folder).length > 0);
  if (!router && isWorkspaces) {
    throw new CliError(
      'This is the root of several packages, not an app.',
      'Go to the folder of your Next.js app and run it there.',
    );
  }
  if (!installed(packageJson).next) {
    throw new CliError(
      'This is no Next.js app: package.json does not list next.',
      'Run it in the folder of your Next.js app.',
    );
  }
  if (!router) {
    const hasPages = ['pages', 'src/pages'].some((folder) => tree.list(folder).length > 0);
    throw new CliError(
      `There is no app router: neither app/ nor src/app/ is here${hasPages ? ', only pages/' : ''}.`,
      'Make app/layout.tsx; a pages/ folder may stay beside it.',
    );
  }
  return { src: router === 'app' ? '' : 'src/', router, packageJson };
}

/** An app as its folder shows it. */
export type App = ReturnType<typeof findApp>;

/** Reads package.json; undefined where there is none. Throws a CliError for one that cannot be read. */
function readPackageJson(tree: FileTree): PackageJson | undefined {
  const text = tree.read('package.json');
  return text === undefined ? undefined : parsed('package.json', text);
}

function parsed<T>(file: string, json: string): T {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}.`, 'Mend it, then run this again.');
  }
}

/** The paths of the app's own modules, as a person gives them. */
export type ModulePaths = Partial<Record<'idempotency' | 'operations', string | undefined>>;

/** The file of one of the app's modules, by its path in the app. */
export function fileOf(name: keyof ModulePaths, tree: FileTree, given: ModulePaths = {}): string {
  const said = given[name] ?? readPackageJson(tree)?.oncekit?.[name];
  const bare = said !== undefined ? [said] : [`lib/${name}`, `src/lib/${name}`];
  const tried = bare.flatMap((each) => [each, ...moduleNames(each)]);
  const found = tried.find((file) => tree.read(file) !== undefined);
  if (found) return found;
  throw new CliError(
    said === undefined ? `There is no lib/${name}.ts, and no src/lib/${name}.ts.` : `There is no ${said}.`,
    `npx oncekit init makes it. If it is elsewhere, say where: --${name} <path>.`,
  );
}

/** The kit's tables by the names that package.json gives them. Throws a CliError for names that cannot be used. */
export function tablesOf(tree: FileTree): Tables | undefined {
  const tables = readPackageJson(tree)?.oncekit?.tables;
  try {
    renamerOf(tables);
  } catch (error) {
    throw new CliError(
      `package.json, "oncekit": ${(error as Error).message}`,
      'Write there what createIdempotency is given.',
    );
  }
  return tables;
}

/** The dependencies of an app, by name. */
export function installed({ dependencies, devDependencies }: PackageJson): Record<string, string> {
  return { ...devDependencies, ...dependencies };
}

interface CompilerOptions {
  baseUrl?: string;
  paths?: Record<string, string[]>;
  module?: string;
  moduleResolution?: string;
  allowImportingTsExtensions?: boolean;
}

/**
 * Finds out how the files of this app name one another, by tsconfig.json and what it extends, where that is a file of the app: the
 * alias, such as `@/`, with its folder, and the ending of a path, which most apps leave out. No alias, where there is none.
 */
export function findImports(tree: FileTree) {
  const options = compilerOptions(tree, 'tsconfig.json');
  const resolution = options.moduleResolution ?? options.module ?? '';
  const isNode = /^node(16|18|20|next)$/i.test(resolution);
  const ending = !isNode ? '' : options.allowImportingTsExtensions ? '.ts' : '.js';
  const found = Object.entries(options.paths ?? {}).flatMap(([pattern, targets]) => {
    const target = targets[0];
    const folder = target && path.posix.join(options.baseUrl ?? '', target);
    const isRoot = folder === '*' || folder === 'src/*';
    return isRoot && pattern.endsWith('/*') ? { prefix: pattern.slice(0, -1), folder: folder.slice(0, -1) } : [];
  });
  return { alias: found.find(({ prefix }) => prefix === '@/') ?? found[0], ending };
}

function compilerOptions(tree: FileTree, file: string, depth = 0): CompilerOptions {
  const text = tree.read(file) ?? tree.read(`${file}.json`);
  if (text === undefined || depth > 5) return {};
  // It may have comments, and commas behind the last of a list.
  const json = withoutComments(text.replace(/^\uFEFF/, '')).replace(/,(?=\s*[}\]])/g, '');
  const read = parsed<{ extends?: string | string[]; compilerOptions?: CompilerOptions }>(file, json);
  const bases = [read.extends ?? []].flat().filter((base) => base.startsWith('.'));
  const inherited = bases.map((base) => compilerOptions(tree, path.posix.join(file, '..', base), depth + 1));
  return Object.assign({}, ...inherited, read.compilerOptions);
}

/** How one file of the app imports another; both are paths of .ts files in it. */
export function specifier(from: string, to: string, { alias, ending }: ReturnType<typeof findImports>): string {
  const bare = to.replace(/\.tsx?$/, '').replace(ending === '' ? /\/index$/ : /$^/, '');
  if (alias && to.startsWith(alias.folder)) return alias.prefix + bare.slice(alias.folder.length) + ending;
  const relative = path.posix.relative(path.posix.dirname(from), bare);
  return (relative.startsWith('..') ? '' : './') + relative + ending;
}
