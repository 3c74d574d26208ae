import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { marked, type Token } from 'marked';
import { lineAt } from './fault.ts';

export const root = path.resolve(import.meta.dirname, '../..');

/** A block of code, as a page has it. */
export interface Block {
  /** `ts`, `tsx`, `sh`, … */
  lang: string;
  /** The words behind the language: `fragment` for code that cannot stand by itself. */
  word: string;
  text: string;
  /** The line in which it begins, counted from 1. */
  line: number;
  /** The code that `<!-- context: … -->` before it adds, unseen by readers. */
  context: string;
}

/** A Markdown file of the repository. */
export interface MarkdownPage {
  /** Relative to the repository: `docs/phases.md`. */
  file: string;
  text: string;
  blocks: Block[];
  links: string[];
}

/** Every page that is written for people. */
export function markdownPages(): MarkdownPage[] {
  const top = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
  const docs = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const files = [...top, ...docs.filter((name) => name.endsWith('.md')).map((name) => path.join('docs', name))];
  return files.sort().map((file) => readPage(file, readFileSync(path.join(root, file), 'utf8')));
}

/** Reads a page: its blocks and its links, those inside lists and tables too. */
export function readPage(file: string, text: string): MarkdownPage {
  const page: MarkdownPage = { file, text, blocks: [], links: [] };
  let context = '';
  let from = 0;
  marked.walkTokens(marked.lexer(text), (token: Token) => {
    if (token.type === 'link' || token.type === 'image') page.links.push(token.href);
    if (token.type === 'html') {
      context = /^<!-- context:([\s\S]*)-->/.exec(token.text)?.[1] ?? context;
      for (const [, href = ''] of token.text.matchAll(/(?:src|srcset|href)="([^"]+)"/g)) page.links.push(href);
    }
    if (token.type !== 'code') return;
    const [lang = '', word = ''] = (token.lang ?? '').split(' ');
    from = text.indexOf(`\`\`\`${token.lang ?? ''}\n`, from) + 1;
    page.blocks.push({ lang, word, text: token.text, line: lineAt(text, from), context });
    context = '';
  });
  return page;
}
