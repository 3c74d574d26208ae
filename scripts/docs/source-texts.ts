import ts from 'typescript';

/** A piece of a source file that people read. */
export interface SourceText {
  /**
   * `title`: of a test, or of a group of tests. `message`: an argument of an error that is made. `string`: any other.
   */
  kind: 'comment' | 'title' | 'message' | 'string';
  text: string;
  /** Its first character's place in the file. */
  position: number;
}

const TEST_FUNCTIONS = new Set(['test', 'it', 'describe']);

/** The comments and strings of a TypeScript file, in their order. */
export function sourceTexts(file: string, content: string): SourceText[] {
  const language = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, content, ts.ScriptTarget.Latest, true, language);
  const found = new Map<number, SourceText>();

  const addComments = (position: number) => {
    const ranges = [ts.getLeadingCommentRanges(content, position), ts.getTrailingCommentRanges(content, position)];
    for (const { pos, end } of ranges.flatMap((some) => some ?? [])) {
      found.set(pos, { kind: 'comment', text: content.slice(pos, end), position: pos });
    }
  };
  const addStrings = (node: ts.Node, kind: SourceText['kind']) => {
    const position = node.getStart(source);
    if (!isString(node)) ts.forEachChild(node, (child) => addStrings(child, kind));
    // A title or a message is visited as a mere string, too, before or after.
    else if (kind !== 'string' || !found.has(position)) {
      found.set(position, { kind, text: node.getText(source), position });
    }
  };
  const visit = (node: ts.Node): void => {
    // In the text of JSX `//` begins no comment.
    if (!ts.isJsxText(node)) for (const position of [node.pos, node.end]) addComments(position);
    if (ts.isCallExpression(node)) for (const title of titlesOf(node)) addStrings(title, 'title');
    if (isErrorMade(node)) for (const argument of node.arguments ?? []) addStrings(argument, 'message');
    if (isString(node)) addStrings(node, 'string');
    ts.forEachChild(node, visit, (children) => {
      for (const position of [children.pos, children.end]) addComments(position);
      for (const child of children) visit(child);
    });
  };
  visit(source);
  return [...found.values()].sort((one, other) => one.position - other.position);
}

function isString(node: ts.Node): boolean {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);
}

function isErrorMade(node: ts.Node): node is ts.NewExpression {
  return ts.isNewExpression(node) && ts.isIdentifier(node.expression) && node.expression.text.endsWith('Error');
}

/** The title of `test(…)`, `test.skip(…)`, `describe.each(…)(…)`; of `test.each(rows)` the rows that its titles name. */
function titlesOf({ expression, arguments: [first] }: ts.CallExpression): ts.Node[] {
  if (!first || !TEST_FUNCTIONS.has(rootOf(expression))) return [];
  return ts.isPropertyAccessExpression(expression) && expression.name.text === 'each' ? rowsOf(first) : [first];
}

/** `test` of `test.each(rows)`. */
function rootOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) || ts.isCallExpression(node) ? rootOf(node.expression) : '';
}

/** The first column of a table, which may be a constant of the same file. */
function rowsOf(table: ts.Node): ts.Node[] {
  if (ts.isAsExpression(table)) return rowsOf(table.expression);
  if (ts.isIdentifier(table)) {
    const declaration = table
      .getSourceFile()
      .statements.filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => [...declarationList.declarations])
      .find(({ name }) => ts.isIdentifier(name) && name.text === table.text);
    return declaration?.initializer ? rowsOf(declaration.initializer) : [];
  }
  if (!ts.isArrayLiteralExpression(table)) return [];
  return table.elements.flatMap((row) => (ts.isArrayLiteralExpression(row) ? row.elements.slice(0, 1) : [row]));
}
