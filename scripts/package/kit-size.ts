import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** The weight of the kit for its readers. */
export interface KitSize {
  /** Lines that hold a token outside of comments, imports and re-exports. */
  code: number;
  /** Lines that hold a comment and nothing else. */
  comments: number;
  files: number;
  /** Names that files of the kit export, each counted where it is declared. */
  exports: number;
  /** Lines of the tests in `lib`, and of what they share. */
  tests: number;
}

const IS_TEST = /\.(test|testsuite|fixture|child|test-d)\.tsx?$/;

/** Measures a folder of TypeScript. */
export function measureKit(folder: string): KitSize {
  const size: KitSize = { code: 0, comments: 0, files: 0, exports: 0, tests: 0 };
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!/\.tsx?$/.test(name)) continue;
    const text = readFileSync(path.join(folder, name), 'utf8');
    if (IS_TEST.test(name)) {
      size.tests += text.trimEnd().split('\n').length;
      continue;
    }
    const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    const { code, comments } = linesOf(source);
    size.code += code.size;
    size.comments += [...comments].filter((line) => !code.has(line)).length;
    size.files++;
    size.exports += exportedNames(source).size;
  }
  return size;
}

function linesOf(source: ts.SourceFile): { code: Set<number>; comments: Set<number> } {
  const code = new Set<number>();
  const comments = new Set<number>();
  const add = (to: Set<number>, start: number, end: number) => {
    const last = source.getLineAndCharacterOfPosition(end).line;
    for (let { line } = source.getLineAndCharacterOfPosition(start); line <= last; line++) to.add(line);
  };
  const addComments = (node: ts.Node) => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.getEnd()) ?? []),
    ];
    for (const { pos, end } of ranges) add(comments, pos, end - 1);
  };
  const visit = (node: ts.Node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    const isBrought = ts.isImportDeclaration(node) || ts.isExportDeclaration(node);
    if (children.length > 0 && !isBrought) return children.forEach(visit);
    addComments(node);
    const isToken = !isBrought && node.getText(source).trim() !== '';
    if (isToken) add(code, node.getStart(source), node.getEnd() - 1);
  };
  visit(source);
  return { code, comments };
}

/** The names that a file declares and exports, each with where it does. */
export function exportedNames({ statements }: ts.SourceFile): Map<string, ts.Node> {
  const names = new Map<string, ts.Node>();
  for (const statement of statements) {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
    if (!modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
    const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    for (const { name } of declared as readonly ts.NamedDeclaration[]) {
      const many = name && ts.isArrayBindingPattern(name) ? name.elements : [name];
      for (const each of many) names.set(each?.getText() ?? 'default', each ?? statement);
    }
  }
  return names;
}

/** How large the kit may be from a change on, and why. */
export interface Allowance extends KitSize {
  why: string;
}

/** Says what is larger than the last of them allows. */
export function growthOf(size: KitSize, allowances: readonly Allowance[]): string[] {
  const allowed = allowances.at(-1);
  if (!allowed?.why) return ['The last entry of kit-size.json has no reason.'];
  return moreThan(size, allowed).map((more) => `${more} than kit-size.json allows.`);
}

/**
 * What is read in an afternoon. No entry of `kit-size.json` may pass it: a feature pays for its lines by taking something out.
 * Another ceiling is another ADR (docs/adr/0069-a-ceiling-for-the-kit.md).
 */
export const CEILING = { code: 22_100, files: 290, exports: 1220 };

/** Says what is above a ceiling. */
export function excessOf(size: KitSize, ceiling: Partial<KitSize>): string[] {
  return moreThan(size, ceiling).map((more) => `${more} than the ceiling of kit-size.ts.`);
}

function moreThan(size: KitSize, most: Partial<KitSize>): string[] {
  return (Object.keys(size) as (keyof KitSize)[]).flatMap((name) => {
    const more = size[name] - (most[name] ?? Number.POSITIVE_INFINITY);
    return more > 0 ? `${name}: ${size[name]}, ${more} more` : [];
  });
}
