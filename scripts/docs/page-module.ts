import { readFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';
import { readPage, root } from './pages.ts';

const compiled = new Map<string, string>();

/**
 * Runs a block of a page as it stands there, and returns what it exports.
 *
 * @param title its first line: `// lib/checkout.ts`
 * @param modules what it imports, by name
 */
export function runPageBlock<Exports>(page: string, title: string, modules: Record<string, unknown>): Exports {
  const code = compiled.get(page + title) ?? compileBlock(page, title);
  compiled.set(page + title, code);
  const loaded = { exports: {} };
  new Function('require', 'module', code)((name: string) => modules[name], loaded);
  return loaded.exports as Exports;
}

function compileBlock(page: string, title: string): string {
  const { blocks } = readPage(page, readFileSync(path.join(root, page), 'utf8'));
  const block = blocks.find(({ text }) => text.startsWith(title));
  if (!block) throw new Error(`${page} has no block that begins with ${title}.`);
  return transformSync(block.text, { loader: 'ts', format: 'cjs' }).code;
}
