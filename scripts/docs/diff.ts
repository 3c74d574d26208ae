import { type MarkdownPage, readPage } from './pages.ts';

/** A change of the README's diff to one file: the text that must stand there, and its replacement. */
export interface FileChange {
  file: string;
  before: string;
  after: string;
  added: number;
  removed: number;
}

/** The diff "A form you have already", the kit added to it. A line of the form "// path" begins each file. */
export function readmeDiff({ file: page, blocks }: MarkdownPage): FileChange[] {
  const diff = blocks.find(({ lang }) => lang === 'diff')?.text ?? '';
  const files = diff.split(/^ \/\/ (\S+\.tsx?)$/m).slice(1);
  const changes: FileChange[] = [];
  for (let at = 0; at < files.length; at += 2) changes.push(changeOf(files[at] as string, files[at + 1] as string));
  if (changes.length === 0) throw new Error(`${page} has no \`\`\`diff block whose files begin with "// path".`);
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

/** Its files before or after the change, as a page of their own. */
export function diffSide(readme: MarkdownPage, side: 'before' | 'after'): MarkdownPage {
  const blocks = readmeDiff(readme).map((change) => `\`\`\`tsx\n// ${change.file}\n${change[side]}\n\`\`\`\n`);
  return readPage(`${readme.file}, ${side} the diff`, blocks.join('\n'));
}
