import ts from 'typescript';

/** A member of a type, as it is written. */
export interface Documented {
  /** With `?` where it may be left out. */
  name: string;
  type: string;
  words: string;
}

/** The docstring of a symbol: its words, and what its tags say. */
export function docOf(
  symbol: ts.Symbol,
  checker: ts.TypeChecker,
): { words: string; tags: { tag: string; text: string }[] } {
  const tags = symbol.getJsDocTags(checker).flatMap(({ name, text }) => {
    const said = asText(text);
    const tag = labels[name];
    if (!tag || !said) return [];
    const [, of = '', rest = ''] = (name === 'param' && /^([\w.]+)\s+([\s\S]*)$/.exec(said)) || [];
    return [of ? { tag: `\`${of}\``, text: rest } : { tag, text: said }];
  });
  return { words: asText(symbol.getDocumentationComment(checker)), tags };
}

const labels: Record<string, string> = { throws: 'Throws', returns: 'Returns', param: 'Takes' };

/** A line of a docstring that is broken where it is written is one paragraph all the same. An example in it stays. */
function asText(parts: readonly ts.SymbolDisplayPart[] | undefined): string {
  const text = ts.displayPartsToString(parts as ts.SymbolDisplayPart[] | undefined).trim();
  return text.replaceAll(/^```tsx?$/gm, '```');
}

/** The members of an interface or of an object type, also those it takes from types that are not public; else null. */
export function membersOf(symbol: ts.Symbol, checker: ts.TypeChecker): Documented[] | null {
  const [declaration] = symbol.declarations ?? [];
  if (!declaration) return null;
  const isObject =
    ts.isInterfaceDeclaration(declaration) ||
    ts.isClassDeclaration(declaration) ||
    (ts.isTypeAliasDeclaration(declaration) && isObjectType(declaration.type, checker));
  if (!isObject) return null;
  return checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter((member) => member.declarations?.some((one) => !isTheirs(one) && !isHidden(one)))
    .map((member) => documented(member, checker));
}

function isObjectType(type: ts.TypeNode, checker: ts.TypeChecker): boolean {
  if (ts.isTypeLiteralNode(type)) return true;
  if (!ts.isTypeReferenceNode(type)) return false;
  const isPart = /^(Omit|Pick|Partial|Required)$/.test(type.typeName.getText());
  return isPart || checker.getTypeFromTypeNode(type).isClassOrInterface();
}

/** True for a member that the language declares, such as the `stack` of an error. */
function isTheirs(node: ts.Declaration): boolean {
  return node.getSourceFile().fileName.includes('/node_modules/');
}

function isHidden(node: ts.Declaration): boolean {
  return (ts.getCombinedModifierFlags(node) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0;
}

function documented(member: ts.Symbol, checker: ts.TypeChecker): Documented {
  const declarations = member.declarations ?? [];
  const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0;
  const { words, tags } = docOf(member, checker);
  return {
    name: `${member.name}${isOptional ? '?' : ''}`,
    type: declarations.map(typeText).join(' & '),
    words: [words, ...tags.map(({ tag, text }) => `${tag}: ${text}.`.replace(/\.\.$/, '.'))].join(' '),
  };
}

/** The type of a member as it is written; of a method, as that of a function. */
function typeText(node: ts.Declaration): string {
  if (ts.isMethodSignature(node) || ts.isMethodDeclaration(node)) {
    const generics = node.typeParameters ? `<${textOf(node.typeParameters)}>` : '';
    return `${generics}(${textOf(node.parameters)}) => ${node.type?.getText() ?? 'void'}`;
  }
  if (ts.isPropertySignature(node) || ts.isPropertyDeclaration(node) || ts.isParameter(node)) {
    if (node.type) return withoutUndefined(node.type.getText());
    return ('initializer' in node && node.initializer?.getText()) || 'unknown';
  }
  return node.getText();
}

/** `string | undefined` of what may be left out says nothing more. */
function withoutUndefined(type: string): string {
  return type.replace(/ \| undefined$/, '').replace(/^\(([^()]*\([^()]*\)[^()]*)\)$/, '$1');
}

function textOf(nodes: ts.NodeArray<ts.Node>): string {
  return nodes.map((node) => withoutComments(node.getText())).join(', ');
}

/** How an export is declared, without its body. Of what has a table of members, its head alone. */
export function declarationText({ declarations = [] }: ts.Symbol, hasTable: boolean): string {
  // Of a function with overloads, the last declaration is nobody's to call.
  const isOverloaded = declarations.filter(ts.isFunctionDeclaration).length > 1;
  return declarations
    .filter((node) => !(isOverloaded && ts.isFunctionDeclaration(node) && node.body))
    .map((node) => headOf(node, hasTable))
    .join('\n');
}

function headOf(node: ts.Declaration, hasTable: boolean): string {
  if (ts.isFunctionDeclaration(node)) {
    const text = node.getText();
    const end = node.body ? node.body.getStart() - node.getStart() : text.length;
    return bare(text.slice(0, end));
  }
  if (ts.isVariableDeclaration(node)) return bare(`const ${node.getText()}`);
  if (hasTable && ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type)) return '';
  if (hasTable && (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node))) {
    const [head = ''] = bare(node.getText()).split(' {', 1);
    const generics = node.typeParameters ? `<${textOf(node.typeParameters)}>` : '';
    return ts.isClassDeclaration(node) ? head.trim() : generics && `interface ${node.name.text}${generics}`;
  }
  return bare(node.getText());
}

/** The words about a parameter's members stay: there is no table of them. */
function bare(text: string): string {
  return text
    .replace(/^export (default )?/, '')
    .replace(/\basync function\b/, 'function')
    .trim();
}

function withoutComments(text: string): string {
  return text.replaceAll(/[ \t]*\/\*\*[\s\S]*?\*\/\n?/g, '').replaceAll(/^[ \t]*\/\/.*\n/gm, '');
}
