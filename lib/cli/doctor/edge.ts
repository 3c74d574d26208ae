import path from 'node:path';
import type { FileTree } from '../app/file-tree.ts';
import { readImportGraph, wayTo } from '../app/import-graph.ts';
import type { App } from '../app/next-app.ts';
import { lineAt } from '../app/source-text.ts';
import { checkNamed, type Finding } from './finding.ts';

const EDGE = /^[ \t]*export\s+const\s+runtime\s*=\s*(['"`])((?:experimental-)?edge)\1.*$/m;
/** The kit's entries that run in Node alone. */
const isServerSide = (name: string) => /^oncekit(\/(next|admin|messaging|worker|adapter-pg))?$/.test(name);

/**
 * Pages and routes that Next would run on its edge runtime, where neither the kit nor a database's driver runs. A layout
 * speaks for the pages below it.
 */
export function checkEdge(tree: FileTree, { router }: App): Finding[] {
  const check = checkNamed('Runtime');
  const graph = readImportGraph(tree);
  const inRouter = [...graph.texts].filter(([file]) => file.startsWith(`${router}/`));
  return inRouter.flatMap(([file, text]) => {
    const found = EDGE.exec(text);
    if (!found) return [];
    const [, , runtime] = found;
    const folder = `${path.posix.dirname(file)}/`;
    const isLayout = /\/layout\.[jt]sx?$/.test(file);
    const below = isLayout ? inRouter.flatMap(([other]) => (other.startsWith(folder) ? other : [])) : [];
    const way = [file, ...below].map((each) => wayTo(graph, each, isServerSide)).find((each) => each !== undefined);
    if (!way) return [];
    const uses = way[0] === file ? 'uses the kit' : `${way[0]} below it uses the kit`;
    const by = way.length > 1 ? ` by ${way.at(-1)}` : '';
    const line = lineAt(text, found.index);
    return check.problem(
      `${file}:${line} says runtime = '${runtime}', and ${uses}${by}, which runs in Node.js alone.`,
      'Remove that line.',
    );
  });
}
