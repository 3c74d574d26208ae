import path from 'node:path';
import ts from 'typescript';
import { kitProgram, publicEntries, publicExports } from '../package/public-exports.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** The purpose of each entry: the first paragraph of its page. */
const leads: Record<string, string> = {
  oncekit: 'Set the kit up, define operations, read outcomes. Loads in plain Node, without Next and React.',
  'oncekit/next': 'Operations as server actions and route handlers, and the routes that the kit needs.',
  'oncekit/react': 'Forms in the browser. At most 4 kB in the first load, without React itself.',
  'oncekit/http': 'The retrying client, for browsers and Node alike.',
  'oncekit/worker': 'The process that finishes what others have begun, and its tasks one by one.',
  'oncekit/messaging': 'Events out and in: the outbox with its publishers, and the inbox.',
  'oncekit/admin': 'What stands behind the admin view: reads without payloads, and audited operations.',
  'oncekit/testing': 'What shows, in your own tests, that a form or an endpoint does it once.',
  'oncekit/adapter-pg': "Prisma's adapter for PostgreSQL, on a pool of the kit's. Needs `@prisma/adapter-pg`.",
  'oncekit/stripe': 'Foreign calls to Stripe, with its keys and what its errors prove. Imports nothing of `stripe`.',
};

/**
 * The reference, a page for each entry, from the docstrings and the declarations as they are written. The same for the
 * same sources.
 *
 * @throws for a public export without a docstring, and for an entry that nobody has introduced
 */
export function referencePages(): Map<string, string> {
  const program = kitProgram();
  const exported = publicExports(program);
  const bare = [...exported].flatMap(([entry, all]) =>
    all.filter(({ hasDocstring }) => !hasDocstring).map(({ name, file }) => `${name} of ${entry}, in ${file}`),
  );
  if (bare.length > 0) throw new Error(`There is no docstring for:\n  ${bare.join('\n  ')}`);
  const pages = new Map([...exported].map(([entry, all]) => [entry, pageOf(entry, all, program)]));
  const homes = homesOf(exported);
  return new Map([...pages].map(([entry, page]) => [pageName(entry), withLinks(page, entry, homes)]));
}

type Exports = NonNullable<ReturnType<ReturnType<typeof publicExports>['get']>>;

function pageOf(entry: string, all: Exports, program: ts.Program): string {
  const lead = leads[entry];
  if (!lead) throw new Error(`Say in scripts/docs/reference.ts what ${entry} is for.`);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path.join(root, publicEntries().get(entry) ?? ''));
  const module = source && checker.getSymbolAtLocation(source);
  const symbols = new Map(module && checker.getExportsOfModule(module).map((one) => [one.name, one]));
  const section = (title: string, kind: Exports[number]['kind'], isMeant = (_: string) => true) => {
    const those = all.filter((one) => one.kind === kind && isMeant(one.name));
    if (those.length === 0) return [];
    const texts = those.map(({ name }) => {
      const symbol = symbols.get(name);
      if (!symbol) throw new Error(`${entry} has lost ${name}.`);
      const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      return exportText(name, real, checker);
    });
    return [`## ${title}`, ...texts];
  };
  return `${[
    `# ${entry}`,
    lead,
    `Made from the docstrings by \`npm run build:reference\`. Times are milliseconds where a name ends in \`Ms\`.`,
    ...section('Functions', 'function'),
    ...section('Values', 'constant'),
    ...section('Classes', 'class', (name) => !name.endsWith('Error')),
    ...section('Errors', 'class', (name) => name.endsWith('Error')),
    ...section('Types', 'type'),
  ].join('\n\n')}\n`;
}

/** The section of one export. */
function exportText(name: string, symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const { words, tags } = docOf(symbol, checker);
  const members = membersOf(symbol, checker);
  const declarations = declarationText(symbol, members !== null);
  return [
    `### ${name}`,
    ...(declarations ? [`\`\`\`\n${declarations}\n\`\`\``] : []),
    words,
    ...tags.map(({ tag, text }) => `**${tag}** ${text}`),
    ...(members?.length ? [tableOf(members)] : []),
  ].join('\n\n');
}

function tableOf(members: readonly Documented[]): string {
  const rows = members.map(({ name, type, words }) => `| \`${name}\` | \`${inCell(type)}\` | ${inCell(words)} |`);
  return ['| Name | Type | |', '|---|---|---|', ...rows].join('\n');
}

function inCell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}

/** The places that describe a name: the entries that export it. */
type Homes = ReadonlyMap<string, readonly string[]>;

function homesOf(exported: ReadonlyMap<string, readonly { name: string }[]>): Homes {
  const homes = new Map<string, string[]>();
  for (const [entry, all] of exported) {
    for (const { name } of all) homes.set(name, [...(homes.get(name) ?? []), entry]);
  }
  return homes;
}

/** The file of an entry's page in docs/reference, named as the entry is without `oncekit/`. */
function pageName(entry: string): string {
  return `${entry.replace(/^oncekit\//, '')}.md`;
}

/** A page with a line under each export that leads to the public names in its types. */
function withLinks(page: string, entry: string, homes: Homes): string {
  return page
    .split(/(?=^### )/m)
    .map((section) => {
      const [, own] = /^### (\w+)/.exec(section) ?? [];
      if (!own) return section;
      const [text = '', behind = ''] = section.split(/(?=^## )/m);
      const named = new Set(codeOf(text).match(/\b[A-Z]\w+\b/g));
      const links = [...named]
        .filter((name) => name !== own && homes.has(name))
        .sort()
        .map((name) => `[${name}](${addressOf(name, entry, homes)})`);
      return links.length > 0 ? `${text.trimEnd()}\n\nSee ${links.join(', ')}.\n\n${behind}` : section;
    })
    .join('')
    .replace(/\n+$/, '\n');
}

/** Declarations and types: what stands in a block of code, and in the second column of a table. */
function codeOf(section: string): string {
  const blocks = [...section.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  const types = [...section.matchAll(/^\| `[^`]+` \| `([^`]+)` \|/gm)].map(([, type]) => type);
  return [...blocks.slice(0, 1), ...types].join('\n').replaceAll(/'[^'\n]*'/g, '');
}

/** On the same page where it is there too. */
function addressOf(name: string, entry: string, homes: Homes): string {
  const at = homes.get(name) ?? [];
  const page = at.includes(entry) ? '' : pageName(at[0] ?? entry);
  return `${page}#${name.toLowerCase()}`;
}

/** A member of a type, as it is written. */
interface Documented {
  /** With `?` where it may be left out. */
  name: string;
  type: string;
  words: string;
}

/** The docstring of a symbol: its words, and what its tags say. */
function docOf(symbol: ts.Symbol, checker: ts.TypeChecker): { words: string; tags: { tag: string; text: string }[] } {
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
function membersOf(symbol: ts.Symbol, checker: ts.TypeChecker): Documented[] | null {
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
function declarationText({ declarations = [] }: ts.Symbol, hasTable: boolean): string {
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
