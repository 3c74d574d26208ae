import path from 'node:path';
import ts from 'typescript';
import { PAGE_CONTEXT } from './page-context.ts';
import { type Block, type MarkdownPage, root } from './pages.ts';
import { errorsIn, virtualProgram } from './virtual-program.ts';

/** The folder in which the pages' files seem to lie. None of them exists on disk. */
const FOLDER = path.join(root, 'docs-check');
const PAGE_CONTEXT_FOLDER = path.join(FOLDER, 'given');

/** TypeScript's errors in the code of these pages: `docs/x.md:12: …`. One program for all of them. */
export function typeErrors(pages: readonly MarkdownPage[]): string[] {
  const given = Object.entries(PAGE_CONTEXT).map(
    ([name, text]) => [path.join(PAGE_CONTEXT_FOLDER, name), text] as const,
  );
  const files = new Map<string, string>(given);
  const from = new Map<string, { file: string; line: number }>();
  for (const page of pages) {
    for (const { name, text, line } of codeOf(page)) {
      files.set(name, text);
      from.set(name, { file: page.file, line });
    }
  }
  const program = virtualProgram(files, {
    // A fresh Next app is not strict about these.
    options: { verbatimModuleSyntax: false, noUncheckedIndexedAccess: false },
    ownFile: (specifier, containing) => ownFile(specifier, containing, files),
  });
  return [...files.keys()].flatMap((name) => {
    const { file, line } = from.get(name) ?? { file: path.relative(PAGE_CONTEXT_FOLDER, name), line: 0 };
    return errorsIn(program, name).map((error) => `${file}:${line + 1 + error.line}: ${error.text}`);
  });
}

/** Blocks that can be compiled. */
export function isCode({ lang, word }: Block): boolean {
  return (lang === 'ts' || lang === 'tsx') && word !== 'fragment';
}

/** The file that a block says it is: `// lib/x.ts` in its first line. Empty where it says nothing. */
export function titleOf({ text }: Pick<Block, 'text'>): string {
  return /^\/\/ ([\w[\]()./-]+\.tsx?)\b/.exec(text)?.[1] ?? '';
}

/**
 * The blocks of a page as files of a folder of its own. One that begins with `// lib/x.ts` is that file. What a block uses
 * and neither declares nor imports comes from the blocks before it, else from what all pages take for granted.
 */
function codeOf({ file, blocks }: MarkdownPage): { name: string; text: string; line: number }[] {
  const folder = path.join(FOLDER, file.replaceAll(/[/.]/g, '_'));
  const known = new Map<string, string>();
  for (const name of declared(parse('context.tsx', PAGE_CONTEXT['context.tsx'])))
    known.set(name, `{ ${name} } from '@/context'`);
  const taken = new Set<string>();
  return blocks.filter(isCode).map(({ lang, text, line, context }) => {
    const title = titleOf({ text });
    const isNew = title !== '' && !taken.has(title);
    const name = isNew ? title : `block-${line}.${lang}`;
    taken.add(name);
    const source = parse(name, `${context}\n${text}`);
    const own = declared(source);
    const missing = [...used(source)].filter((one) => known.has(one) && !own.includes(one));
    const prelude = [...missing.map((one) => `import ${known.get(one)};`), context.replaceAll('\n', ' ')].join(' ');
    const passed = imports(source);
    for (const one of own) known.set(one, passed.get(one) ?? `{ ${one} } from '@/${name.replace(/\.tsx?$/, '')}'`);
    return {
      name: path.join(folder, name),
      text: `${prelude}\n${text}\n${exportsOf(source)}`,
      line: line - 1,
    };
  });
}

function parse(name: string, text: string): ts.SourceFile {
  const kind = name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, kind);
}

/** The names that a file declares at its top, imports included. */
function declared(source: ts.SourceFile): string[] {
  return [...imports(source).keys(), ...source.statements.flatMap(namesOf)];
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap((one) => bound(one.name));
  const { name } = statement as { name?: ts.Node };
  return name && ts.isIdentifier(name) ? [name.text] : [];
}

function bound(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((one) => (ts.isBindingElement(one) ? bound(one.name) : []));
}

/** The imports of a file: each name, and how another file of its folder would import it. */
function imports(source: ts.SourceFile): Map<string, string> {
  const found = new Map<string, string>();
  for (const { importClause: clause, moduleSpecifier } of source.statements.filter(ts.isImportDeclaration)) {
    const specifier = (moduleSpecifier as ts.StringLiteral).text;
    const isOwn = specifier.startsWith('.');
    const from = `'${isOwn ? `@/${path.join(path.dirname(source.fileName), specifier)}` : specifier}'`;
    if (clause?.name) found.set(clause.name.text, `${clause.name.text} from ${from}`);
    const named = clause?.namedBindings;
    if (named && ts.isNamespaceImport(named)) found.set(named.name.text, `${named.getText(source)} from ${from}`);
    if (!named || !ts.isNamedImports(named)) continue;
    for (const one of named.elements) found.set(one.name.text, `{ ${one.getText(source)} } from ${from}`);
  }
  return found;
}

function exported(source: ts.SourceFile): Set<string> {
  const isExported = (statement: ts.Statement) =>
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  return new Set(source.statements.filter(isExported).flatMap(namesOf));
}

/** `export { … }` for what a file keeps to itself, so that later blocks of its page may use it. */
function exportsOf(source: ts.SourceFile): string {
  const own = exported(source);
  const hidden = source.statements.filter((one) => !namesOf(one).some((name) => own.has(name)));
  const isType = (one: ts.Statement) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one);
  const types = hidden.filter(isType).flatMap(namesOf);
  const values = hidden.filter((one) => !isType(one)).flatMap(namesOf);
  return `export { ${values.join(', ')} }; export type { ${types.join(', ')} };`;
}

/** Every name in a file, but those of members. */
function used(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const walk = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      const isMember =
        (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
        (ts.isPropertyAssignment(parent) && parent.name === node) ||
        (ts.isJsxAttribute(parent) && parent.name === node);
      if (!isMember) names.add(node.text);
    }
    ts.forEachChild(node, walk);
  };
  walk(source);
  return names;
}

/** The page's file that an import names, else the one that all pages are given. */
function ownFile(specifier: string, containing: string, files: ReadonlyMap<string, string>): string | undefined {
  if (!containing.startsWith(FOLDER) || !/^(@\/|\.|next-intl$)/.test(specifier)) return undefined;
  const [page = ''] = path.relative(FOLDER, containing).split(path.sep);
  const folder = path.join(FOLDER, page);
  const target = specifier.startsWith('.')
    ? path.join(containing, '..', specifier)
    : path.join(folder, specifier.replace('@/', ''));
  const names = ['', '.ts', '.tsx', '/index.ts'].map((end) => `${target}${end}`).filter((name) => /\.tsx?$/.test(name));
  return [...names, ...names.map((name) => name.replace(folder, PAGE_CONTEXT_FOLDER))].find((name) => files.has(name));
}
