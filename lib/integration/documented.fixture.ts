import { readFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';
import { readPage, root } from '../../scripts/docs/pages.ts';

/** Evaluates a file that a page of the docs shows whole, as it stands there, and returns its exports. @param modules what it imports, by name */
export function documented<Exports>(page: string, file: string, modules: Record<string, unknown>): Exports {
  const { blocks } = readPage(page, readFileSync(path.join(root, page), 'utf8'));
  const block = blocks.find(({ text }) => text.startsWith(`// ${file}`));
  if (!block) throw new Error(`${page} has no block that begins with // ${file}.`);
  const { code } = transformSync(block.text, { loader: 'ts', format: 'cjs' });
  const loaded = { exports: {} as Exports };
  new Function('require', 'module', code)((name: string) => modules[name], loaded);
  return loaded.exports;
}
