import path from 'node:path';
import ts from 'typescript';
import { kitProgram, publicEntries, publicExports } from '../package/public-exports.ts';
import { homesOf, pageName, withLinks } from './reference-links.ts';
import { type Documented, declarationText, docOf, membersOf } from './reference-reading.ts';

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
  if (!lead) throw new Error(`Say in scripts/docs/reference-pages.ts what ${entry} is for.`);
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
