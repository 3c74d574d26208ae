import path from 'node:path';
import { type FileTree, moduleNames, sourceFiles } from './file-tree.ts';
import { findImports } from './next-app.ts';
import { withoutComments } from './source-text.ts';

const NAMED = /\b(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/g;

/** Reads the imports of each file of an app, as its text says. */
export function readImportGraph(tree: FileTree) {
  /** The text of each file, without its comments. */
  const texts = new Map(sourceFiles(tree).map(({ file, text }) => [file, withoutComments(text)]));
  const { alias } = findImports(tree);
  /** The file of the app that a file means by a name; undefined for a package. */
  const fileOf = (from: string, name: string): string | undefined => {
    const bare = name.startsWith('.')
      ? path.posix.join(path.posix.dirname(from), name)
      : alias && name.startsWith(alias.prefix)
        ? path.posix.normalize(alias.folder + name.slice(alias.prefix.length))
        : undefined;
    if (bare === undefined) return undefined;
    // `./checkout.js` may be the name of `checkout.ts`.
    const stems = [bare, bare.replace(/\.[cm]?jsx?$/, '')];
    return stems.flatMap((stem) => [stem, ...moduleNames(stem)]).find((file) => texts.has(file));
  };
  const namesIn = (file: string) => [...(texts.get(file) ?? '').matchAll(NAMED)].map(([, , name = '']) => name);
  /** The files of the app that a file imports. */
  const files = (file: string) => namesIn(file).flatMap((name) => fileOf(file, name) ?? []);
  const importsPackage = (file: string, isWanted: (name: string) => boolean) =>
    namesIn(file).some((name) => fileOf(file, name) === undefined && isWanted(name));
  /** The shortest way from a file to one that imports a package, both ends included; undefined where there is none. */
  const wayTo = (from: string, isWanted: (name: string) => boolean) => {
    const ways = [[from]];
    const seen = new Set([from]);
    for (const way of ways) {
      const file = way.at(-1) as string;
      if (importsPackage(file, isWanted)) return way;
      for (const next of files(file)) {
        if (seen.has(next)) continue;
        seen.add(next);
        ways.push([...way, next]);
      }
    }
    return undefined;
  };
  return { texts, files, wayTo };
}
