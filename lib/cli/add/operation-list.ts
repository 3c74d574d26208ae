import { blanked, endOf } from '../app/source-text.ts';

/** An import in blanked code, with the end of its last line. */
const IMPORT = /^import\b(?:[^;'"]*?\bfrom)?\s*(['"])[^'"\n]*\1;?[^\S\n]*\n/gm;

/**
 * Adds an operation to `export const operations = [...]`, with its import behind the last one. Undefined where the list does
 * not stand there in plain form, so that nobody knows where it goes.
 */
export function withOperation(
  source: string,
  { exported, from }: { exported: string; from: string },
): string | undefined {
  const code = blanked(source);
  const list = /\bexport\s+const\s+operations\s*=\s*\[/.exec(code);
  if (!list) return undefined;
  const start = list.index + list[0].length;
  const end = code.indexOf(']', start);
  if (end < 0 || code.slice(start, end).includes('[')) return undefined;
  const entries = entriesWith(source.slice(start, end), exported);
  const listed = `${source.slice(0, start)}${entries}${source.slice(end)}`;
  const line = `import { ${exported} } from '${from}';\n`;
  const last = [...code.slice(0, list.index).matchAll(IMPORT)].at(-1);
  if (last) return insert(listed, last.index + last[0].length, line);
  return insert(listed, list.index, `${line}\n`);
}

/** The insides of the list with one name more, in one line or a line each, as it was. */
function entriesWith(inside: string, exported: string): string {
  const bare = inside.trimEnd();
  if (bare === '') return exported;
  const space = inside.slice(bare.length);
  const isLong = bare.includes('\n');
  const indent = /\n([ \t]*)\S/.exec(bare)?.[1] ?? '';
  const comma = bare.endsWith(',') ? '' : ',';
  return isLong ? `${bare}${comma}\n${indent}${exported},${space}` : `${bare}${comma} ${exported}${space}`;
}

const insert = (text: string, at: number, more: string) => `${text.slice(0, at)}${more}${text.slice(at)}`;

/** The operations that a source exports by name, with the names that keys have. */
export function exportedOperations(source: string): { exported: string; name: string }[] {
  const code = blanked(source);
  return [...code.matchAll(/\bexport\s+const\s+(\w+)\s*=\s*[\w.]+\s*\.\s*operation\s*\(/g)].flatMap((found) => {
    const from = found.index + found[0].length - 1;
    const [, , name] = /\bname\s*:\s*(['"`])([^'"`]+)\1/.exec(source.slice(from, endOf(code, from))) ?? [];
    return name && found[1] ? [{ exported: found[1], name }] : [];
  });
}
