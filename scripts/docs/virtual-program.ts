import path from 'node:path';
import ts from 'typescript';
import { root } from './pages.ts';

/** The parts that such a program has of its own. */
interface Differences {
  /** Other than in tsconfig.json. */
  options: ts.CompilerOptions;
  /** The file of the program that an import names, where that is not for TypeScript to find. */
  ownFile?: (specifier: string, containing: string) => string | undefined;
}

/** A program over files that exist nowhere, by their paths; as strict as our own code where it is not told otherwise. */
export function virtualProgram(files: ReadonlyMap<string, string>, { options: own, ownFile }: Differences): ts.Program {
  const config = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config.config, include: [] }, ts.sys, root);
  Object.assign(options, { incremental: false, ...own });
  const host = ts.createCompilerHost(options);
  const { directoryExists, fileExists, getSourceFile } = host;
  const folders = new Set([...files.keys()].map((name) => path.dirname(name)));
  host.directoryExists = (name) => folders.has(name) || directoryExists?.(name) === true;
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, target, ...more) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile(name, target, ...more) : ts.createSourceFile(name, text, target);
  };
  if (ownFile) {
    const cache = ts.createModuleResolutionCache(root, (name) => name, options);
    host.resolveModuleNameLiterals = (literals, containing) =>
      literals.map(({ text }) => {
        const found = ownFile(text, containing);
        if (found) return { resolvedModule: { resolvedFileName: found, extension: path.extname(found) } };
        // As from the repository's root, for all of them: the cache then answers.
        const from = files.has(containing) ? path.join(root, 'index.ts') : containing;
        return ts.resolveModuleName(text, from, options, host, cache);
      });
  }
  return ts.createProgram([...files.keys()], options, host);
}

/** TypeScript's errors in one file, and in which of its lines, counted from 0. */
export function errorsIn(program: ts.Program, name: string): { line: number; text: string }[] {
  const source = program.getSourceFile(name);
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map(({ messageText, start = 0 }) => ({
    line: source?.getLineAndCharacterOfPosition(start).line ?? 0,
    text: ts.flattenDiagnosticMessageText(messageText, ' '),
  }));
}
