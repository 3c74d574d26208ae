import path from 'node:path';
import { type FileTree, type SourceFile, sourceFiles } from '../app/file-tree.ts';
import { readImportGraph } from '../app/import-graph.ts';
import type { App } from '../app/next-app.ts';
import { blanked, endOf, lineAt } from '../app/source-text.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Pages');
const ISSUES = /\b(?:issueKey|mintKey)\s*\(/g;
/** A value that is drawn while a component renders, and is the same for everybody when it renders once for everybody. */
const DRAWN =
  /\buse(?:State|Ref|Memo)\s*(?:<[^()]*>)?\(\s*(?:\(\s*\)\s*=>\s*)?(?:crypto\.randomUUID|uuid(?:v[47])?|nanoid|ulid|cuid|createId)\s*\(/g;

/** A page as it is, and with the insides of strings and comments blanked out: positions are the same. */
const pageOf = ({ file, text }: SourceFile) => ({ file, source: text, code: blanked(text) });
type Page = ReturnType<typeof pageOf>;

/**
 * Pages that would give everybody the same key (B1), as far as their text tells. Next or the kit notice most of them too:
 * at build time, or when the page is asked for.
 */
export function checkPages(tree: FileTree, router: string): Finding[] {
  const pages = sourceFiles(tree)
    .filter(({ text }) => /issueKey|mintKey|idempoten|oncekit|force-static/i.test(text))
    .map(pageOf);
  const found = pages.flatMap((page) => [
    ...atModuleLevel(page),
    ...cached(page),
    ...forcedStatic(page, pages, router),
    ...drawn(page),
  ]);
  return found.length > 0 ? found : [check.ok('None is seen to share a key among its visitors.')];
}

const inPage = 'Call issueKey inside the page component, so that each request gets its own.';

function atModuleLevel({ file, code }: Page): Finding[] {
  return [...code.matchAll(ISSUES)].flatMap(({ index }) => {
    const before = code.slice(0, index);
    const statement = before.slice(
      Math.max(before.lastIndexOf(';'), before.lastIndexOf('}'), before.lastIndexOf('\n\n')) + 1,
    );
    const isInside = depthOf(before) > 0 || /=>|\bfunction\b|\bimport\b/.test(statement);
    return isInside ? [] : check.problem(`${file}:${lineAt(code, index)} issues a key once for all visitors.`, inPage);
  });
}

function cached({ file, source, code }: Page): Finding[] {
  const directives = [...source.matchAll(/(['"])use cache(?:: ?\w+)?\1/g)].filter(({ index }) =>
    /['"]/.test(code[index] ?? ''),
  );
  const blocks = directives.map(({ index }) => blockAround(code, index));
  const calls = [...code.matchAll(/\b(?:unstable_cache|cache)\s*\(/g)].map(({ index }): [number, number] => [
    index,
    endOf(code, code.indexOf('(', index)),
  ]);
  return [...code.matchAll(ISSUES)].flatMap(({ index }) => {
    const isCached = [...blocks, ...calls].some(([from, to]) => from <= index && index < to);
    const says = `${file}:${lineAt(code, index)} issues a key inside a cache, which would hand it to everybody.`;
    return isCached ? check.problem(says, 'Issue the key outside of what is cached, and pass it in.') : [];
  });
}

/** Under `force-static` Next renders once for everybody, whatever the page asks for; a layout speaks for what is below it. */
function forcedStatic({ file, source, code }: Page, pages: Page[], router: string): Finding[] {
  const [, dynamic] = /\bexport\s+const\s+dynamic\s*=\s*['"](force-static|error)['"]/.exec(source) ?? [];
  if (!dynamic || !file.startsWith(`${router}/`) || depthOf(code) !== 0) return [];
  const issuing = pages.find((page) => speaksFor(file, page.file) && new RegExp(ISSUES).test(page.code));
  if (!issuing) return [];
  const says = `${file} says dynamic = '${dynamic}', and ${issuing.file === file ? 'issues' : `${issuing.file} below it issues`} a key: one for all visitors.`;
  return [check.problem(says, 'Remove that line.')];
}

/** A page or route speaks for itself, and a layout also for what is below it. */
function speaksFor(file: string, other: string): boolean {
  const isLayout = /\/layout\.[jt]sx?$/.test(file);
  return other === file || (isLayout && other.startsWith(`${path.posix.dirname(file)}/`));
}

function drawn({ file, source, code }: Page): Finding[] {
  if (!/idempoten|initialKey/i.test(source)) return [];
  return [...code.matchAll(DRAWN)].map(({ index }) =>
    check.problem(
      `${file}:${lineAt(code, index)} draws a key while it renders: a page that is built once has the same for everybody.`,
      'Take the key from issueKey in the page, and pass it as initialKey.',
    ),
  );
}

function depthOf(code: string): number {
  return code.split('{').length - code.split('}').length;
}

/** The braces around a position; all of the file where there are none. */
function blockAround(code: string, index: number): [number, number] {
  let from = index;
  for (let depth = 0; from >= 0; from--) {
    if (code[from] === '}') depth++;
    else if (code[from] === '{' && depth-- === 0) break;
  }
  return from < 0 ? [0, code.length] : [from, endOf(code, from)];
}

const EDGE = /^[ \t]*export\s+const\s+runtime\s*=\s*(['"`])((?:experimental-)?edge)\1.*$/m;
/** The kit's entries that run in Node alone. */
const isServerSide = (name: string) => /^oncekit(\/(next|admin|messaging|worker|adapter-pg))?$/.test(name);

/**
 * Pages and routes that Next would run on its edge runtime, where neither the kit nor a database's driver runs. A layout
 * speaks for the pages below it.
 */
export function checkEdge(tree: FileTree, { router }: App): Finding[] {
  const graph = readImportGraph(tree);
  const inRouter = [...graph.texts].filter(([file]) => file.startsWith(`${router}/`));
  return inRouter.flatMap(([file, text]) => {
    const found = EDGE.exec(text);
    if (!found) return [];
    const [, , runtime] = found;
    const below = inRouter.flatMap(([other]) => (speaksFor(file, other) ? other : []));
    const way = [file, ...below].map((each) => graph.wayTo(each, isServerSide)).find((each) => each !== undefined);
    if (!way) return [];
    const uses = way[0] === file ? 'uses the kit' : `${way[0]} below it uses the kit`;
    const by = way.length > 1 ? ` by ${way.at(-1)}` : '';
    const line = lineAt(text, found.index);
    return checkNamed('Runtime').problem(
      `${file}:${line} says runtime = '${runtime}', and ${uses}${by}, which runs in Node.js alone.`,
      'Remove that line.',
    );
  });
}
