import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const lines = (/```diff\n([\s\S]*?)```/.exec(readme)?.[1] ?? '').trimEnd().split('\n');

/** What the diff takes for granted: a client with its models, and the kit set up for it. */
const GIVEN = {
  'lib/prisma.ts': `
    export interface Tx { order: { create(args: { data: object; select: { id: true } }): Promise<{ id: string }> } }
    export declare const prisma: Tx & {
      $transaction<R>(run: (tx: Tx) => Promise<R>): Promise<R>;
      $queryRawUnsafe<T>(query: string, ...values: unknown[]): PromiseLike<T>;
    };`,
  'lib/idempotency.ts': `
    import { createIdempotency } from 'oncekit';
    import { prisma } from '@/lib/prisma';
    export const idempotency = createIdempotency({ prisma, secret: [], scope: async () => null });`,
};

/** The files before or after the change, in a folder of their own. A line of the form "// path" begins each. */
function filesOf(side: 'before' | 'after'): [path: string, text: string][] {
  const files: Record<string, string> = { ...GIVEN };
  let file = '';
  for (const line of lines.filter((each) => !each.startsWith(side === 'before' ? '+' : '-'))) {
    file = /^ \/\/ (\S+\.tsx?)$/.exec(line)?.[1] ?? file;
    files[file] = `${files[file] ?? ''}${line.slice(1)}\n`;
  }
  const own = (text: string) => text.replaceAll("'@/", `'#${side}/`);
  return Object.entries(files).map(([name, text]) => [path.join(root, 'readme', side, name), own(text)]);
}

/** What TypeScript has against these files, as strictly as it reads our own. They need not exist. */
function typeErrors(files: Map<string, string>): string[] {
  const config = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config.config, include: [] }, ts.sys, root);
  options.paths = {
    ...options.paths,
    '#before/*': [`${root}/readme/before/*`],
    '#after/*': [`${root}/readme/after/*`],
  };
  options.incremental = false;
  const host = ts.createCompilerHost(options);
  const { fileExists, directoryExists, getSourceFile } = host;
  const folders = new Set([...files.keys()].flatMap((name) => foldersOf(name)));
  host.directoryExists = (name) => folders.has(name) || (directoryExists?.(name) ?? false);
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, target, onError, shouldCreate) => {
    const text = files.get(name);
    if (text === undefined) return getSourceFile(name, target, onError, shouldCreate);
    return ts.createSourceFile(name, text, target);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files.keys()].flatMap((name) => {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map((one) => `${path.relative(root, name)}: ${ts.flattenDiagnosticMessageText(one.messageText, ' ')}`);
  });
}

function foldersOf(name: string): string[] {
  const folder = path.dirname(name);
  return folder === root ? [] : [folder, ...foldersOf(folder)];
}

describe('the diff in the README: the kit added to a form', () => {
  test('changes at most 10 lines', () => {
    const added = lines.filter((line) => line.startsWith('+'));
    const removed = lines.filter((line) => line.startsWith('-'));
    expect(added.length).toBeGreaterThan(0);
    expect(Math.max(added.length, removed.length)).toBeLessThanOrEqual(10);
  });

  test('leads from code that compiles to code that compiles', { timeout: 60_000 }, () => {
    expect(typeErrors(new Map([...filesOf('before'), ...filesOf('after')]))).toEqual([]);
  });
});
