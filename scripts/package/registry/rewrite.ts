import ts from 'typescript';
import { theirClasses } from './classes.ts';

interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The files that a file imports by a relative path. */
export function relativeImports(source: string): string[] {
  return ts
    .preProcessFile(source, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => name.startsWith('.'));
}

/**
 * A file of the demo as it stands in somebody else's app: its imports, its classes, and no word to our linter.
 *
 * @param rename what a relative import is called there
 */
export function rewritten(source: string, rename: (specifier: string) => string): string {
  const file = ts.createSourceFile('file.tsx', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const edits: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const { text } = node.moduleSpecifier;
      if (text.startsWith('.')) edits.push(inside(node.moduleSpecifier, rename(text)));
    } else if (isImported(node)) {
      if (node.text.startsWith('.')) edits.push(inside(node, rename(node.text)));
    } else if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || isBehindHole(node)) {
      const theirs = theirClasses(node.text);
      if (theirs !== node.text) edits.push(inside(node, theirs));
    } else ts.forEachChild(node, visit);
  };
  visit(file);
  const text = edits
    .sort((one, other) => other.start - one.start)
    .reduce((so, { start, end, text }) => so.slice(0, start) + text + so.slice(end), source);
  return joined(text.replaceAll(/^[ \t]*(\/\/|\{\/\*) biome-ignore .*\n/gm, ''));
}

/** The file in `import('./file')`, called or as a type. */
function isImported(node: ts.Node): node is ts.StringLiteral {
  if (!ts.isStringLiteral(node)) return false;
  const { parent } = node;
  const isCalled = ts.isCallExpression(parent) && parent.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isCalled || (ts.isLiteralTypeNode(parent) && ts.isImportTypeNode(parent.parent));
}

/** A part of a template text that stands behind a hole of it. */
function isBehindHole(node: ts.Node): node is ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

/** The same literal, with another text in its quotes. */
function inside(node: ts.Node, text: string): Edit {
  const opensHole = ts.isTemplateHead(node) || ts.isTemplateMiddle(node);
  return { start: node.getStart() + 1, end: node.getEnd() - (opensHole ? 2 : 1), text };
}

/** Joins two imports from one file, which the demo has in two files. */
function joined(source: string): string {
  const named = /^import (type )?\{ ([^}]*) \} from '([^']+)';\n/gm;
  const found = new Map<string, string[]>();
  for (const [, type, names = '', from = ''] of source.matchAll(named)) {
    const all = names.split(', ').map((name) => (type ? `type ${name}` : name));
    found.set(from, [...(found.get(from) ?? []), ...all]);
  }
  const isTwice = (from: string) => source.split(`from '${from}';`).length > 2;
  return source.replaceAll(named, (line, _type, _names, from: string) => {
    if (!isTwice(from)) return line;
    const names = found.get(from);
    found.delete(from);
    return names ? `import { ${names.join(', ')} } from '${from}';\n` : '';
  });
}
