import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));

/** What the diff in the README does to one file: the text that must stand there, and what takes its place. */
export interface FileChange {
  file: string;
  before: string;
  after: string;
  added: number;
  removed: number;
}

/** The diff "A form you have already". A line of the form "// path" begins each file. */
export async function readmeDiff(): Promise<FileChange[]> {
  const [, diff = ''] = /```diff\n([\s\S]*?)```/.exec(await readFile(README, 'utf8')) ?? [];
  const files = diff.split(/^ \/\/ (\S+\.tsx?)$/m).slice(1);
  const changes: FileChange[] = [];
  for (let at = 0; at < files.length; at += 2) changes.push(changeOf(files[at] as string, files[at + 1] as string));
  if (changes.length === 0) throw new Error('README.md has no ```diff block whose files begin with "// path".');
  return changes;
}

function changeOf(file: string, text: string): FileChange {
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const side = (other: string) => {
    const own = lines.filter((line) => !line.startsWith(other)).map((line) => line.slice(1));
    return own.join('\n').trim();
  };
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { file, before: side('+'), after: side('-'), added: count('+'), removed: count('-') };
}

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
