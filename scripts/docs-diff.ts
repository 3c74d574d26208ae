import { type MarkdownPage, readPage } from './docs-pages.ts';

/** The lines of the README's diff: the kit added to a form that is there. */
export function diffLines({ blocks }: MarkdownPage): string[] {
  return (blocks.find(({ lang }) => lang === 'diff')?.text ?? '').split('\n');
}

/** Its files before or after the change, as a page of their own. A line of the form "// path" begins each. */
export function diffSide(readme: MarkdownPage, side: 'before' | 'after'): MarkdownPage {
  const own = diffLines(readme).filter((line) => !line.startsWith(side === 'before' ? '+' : '-'));
  const files = own
    .map((line) => line.slice(1))
    .join('\n')
    .split(/^(?=\/\/ \S+\.tsx?$)/m);
  const blocks = files.map((text) => `\`\`\`tsx\n${text.trimEnd()}\n\`\`\`\n`);
  return readPage(`README.md, ${side} the diff`, blocks.join('\n'));
}
