import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');

/** An export of an entry of the package. */
export interface PublicExport {
  name: string;
  /** `type` has no value: it is gone when the program runs. A class is both. */
  kind: 'function' | 'class' | 'constant' | 'type';
  /** The file that declares it, from the root of the repository. */
  file: string;
  hasDocstring: boolean;
}

/** The entries of the package and their files, as tsconfig's `paths` name them: `oncekit/next`, `lib/next/index.ts`. */
export function publicEntries(): Map<string, string> {
  const { config } = ts.parseConfigFileTextToJson(
    'tsconfig.json',
    readFileSync(path.join(root, 'tsconfig.json'), 'utf8'),
  );
  const paths = Object.entries(config.compilerOptions.paths as Record<string, [string]>);
  return new Map(
    paths.filter(([name]) => /^oncekit(\/|$)/.test(name)).map(([name, [file]]) => [name, path.posix.normalize(file)]),
  );
}

/** All entries, with TypeScript's own library and nobody else's types: what others declare says nothing about us. */
export function kitProgram(): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    jsx: ts.JsxEmit.Preserve,
    strict: true,
    types: [],
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) => ({
      resolvedModule: text.startsWith('.')
        ? { resolvedFileName: path.resolve(path.dirname(from), text), extension: path.extname(text) }
        : undefined,
    }));
  return ts.createProgram([...entryFiles().values()], options, host);
}

/** The exports of each entry, by name, types too. */
export function publicExports(program = kitProgram()): Map<string, PublicExport[]> {
  const checker = program.getTypeChecker();
  const exportsOf = (file: string) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} exports nothing.`);
    return checker
      .getExportsOfModule(module)
      .map((symbol) => publicExport(symbol, checker))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  };
  return new Map([...entryFiles()].map(([name, file]) => [name, exportsOf(file)]));
}

function entryFiles(): Map<string, string> {
  return new Map([...publicEntries()].map(([name, file]) => [name, path.join(root, file)]));
}

function publicExport(exported: ts.Symbol, checker: ts.TypeChecker): PublicExport {
  const isTypeOnly = exported.declarations?.some((each) => ts.isExportSpecifier(each) && isSaidToBeAType(each));
  const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
  const [declaration] = symbol.declarations ?? [];
  if (!declaration) throw new Error(`${exported.name} is exported, and declared nowhere.`);
  return {
    name: exported.name,
    kind: isTypeOnly ? 'type' : kindOf(symbol),
    file: path.relative(root, declaration.getSourceFile().fileName),
    hasDocstring: symbol.getDocumentationComment(checker).length > 0,
  };
}

function isSaidToBeAType(specifier: ts.ExportSpecifier): boolean {
  return specifier.isTypeOnly || specifier.parent.parent.isTypeOnly;
}

function kindOf({ flags }: ts.Symbol): PublicExport['kind'] {
  if (flags & ts.SymbolFlags.Class) return 'class';
  if (flags & ts.SymbolFlags.Function) return 'function';
  return flags & ts.SymbolFlags.Variable ? 'constant' : 'type';
}
