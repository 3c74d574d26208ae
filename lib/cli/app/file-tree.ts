import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The files of an app, by their path in it with `/`: what plans are made of. */
export interface FileTree {
  /** The content; undefined where there is no such file. */
  read(file: string): string | undefined;
  /** The names in a folder, in order; those of folders end in `/`. None where there is no such folder. */
  list(folder: string): string[];
}

/** The files below a folder of this machine. */
export function folderTree(root: string): FileTree {
  const at = (name: string) => path.resolve(root, name);
  return {
    read: (file) => orElse(() => readFileSync(at(file), 'utf8'), undefined),
    list: (folder) => {
      const entries = orElse(() => readdirSync(at(folder), { withFileTypes: true }), []);
      return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
    },
  };
}

/** Below these there is nothing that a person wrote. */
const SKIPPED = ['node_modules/', 'dist/', 'build/', 'coverage/', 'generated/'];

/** The name of a file of code that is no test. */
const SOURCE_FILE = /(?<!\.d|\.test|\.spec|\.e2e)\.[cm]?[jt]sx?$/;

/** The files that a module may be in, by its path without an ending. */
export function moduleNames(bare: string): string[] {
  const endings = ['.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs'];
  return [bare, `${bare}/index`].flatMap((stem) => endings.map((ending) => stem + ending));
}

/** Every file below a folder whose name ends so, in order; by default all code. Leaves out what is hidden, installed or generated. */
export function filesBelow(tree: FileTree, folder = '', ending = SOURCE_FILE): string[] {
  return tree.list(folder).flatMap((name) => {
    const file = path.posix.join(folder, name);
    if (!name.endsWith('/')) return ending.test(name) ? [file] : [];
    return name.startsWith('.') || SKIPPED.includes(name) ? [] : filesBelow(tree, file, ending);
  });
}

export type SourceFile = { file: string; text: string };

/** Every file of code of an app that is no test, with its text. */
export function sourceFiles(tree: FileTree): SourceFile[] {
  return filesBelow(tree).map((file) => ({ file, text: tree.read(file) ?? '' }));
}

function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}
