import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { FileChange } from '../../docs/diff.ts';

/**
 * Applies the change as `patch` would: what the diff shows as unchanged or removed must stand in the file, word for
 * word. A diff that no longer fits what `init` writes, or what the form was, fails here.
 */
export async function applyChange(app: string, { file, before, after }: FileChange): Promise<void> {
  const target = path.join(app, file);
  if (!existsSync(target)) throw new Error(`The README changes ${file}, and there is no such file.`);
  const text = await readFile(target, 'utf8');
  const at = before === '' ? -1 : text.indexOf(before);
  if (at === -1) throw new Error(`The README's diff does not fit ${file}. It wants:\n${before}\n\nThe file:\n${text}`);
  await writeFile(target, text.slice(0, at) + after + text.slice(at + before.length));
}
