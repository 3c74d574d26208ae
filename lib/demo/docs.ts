import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked, type Tokens } from 'marked';

/** A page of the guides, ready to be shown. */
export interface Page {
  title: string;
  /** The first paragraph: of an error, its status and advice. */
  lead: string;
  /** The rest, as HTML. It comes from files of this repository, never from a visitor. */
  html: string;
}

/** Where the demo is started from is the repository, for `next build`, `next start` and the tests alike. */
const folder = join(process.cwd(), 'docs', 'errors');
const INDEX = 'README.md';

/** Every code that has a page. */
export async function errorCodes(): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith('.md') && name !== INDEX).map((name) => name.slice(0, -'.md'.length));
}

/** The page of one error; null for a code that has none, whatever path its name spells. */
export async function errorPage(code: string): Promise<Page | null> {
  const codes = await errorCodes();
  return codes.includes(code) ? render(await readFile(join(folder, `${code}.md`), 'utf8')) : null;
}

/** The list of all errors. */
export async function errorIndex(): Promise<Page> {
  return render(await readFile(join(folder, INDEX), 'utf8'));
}

/** Takes the title and the lead off, which the page shows in its own way, and renders the rest. */
export function render(markdown: string): Page {
  const [heading, lead, ...rest] = marked.lexer(markdown).filter(({ type }) => type !== 'space');
  if (heading?.type !== 'heading' || lead?.type !== 'paragraph') {
    throw new Error('A page of docs/errors begins with a heading and one paragraph.');
  }
  return { title: heading.text, lead: inWords(lead as Tokens.Paragraph), html: marked.parser(rest) };
}

/** Where a link of a Markdown file leads in the demo; null for a page that the demo does not show. */
export function addressOf(href: string): string | null {
  if (/^https?:\/\//.test(href)) return href;
  const [, code] = /^(?:\.\/)?([\w-]+)\.md(?:#.*)?$/.exec(href) ?? [];
  if (code === undefined) return null;
  return code === 'README' ? '/docs/errors' : `/docs/errors/${code}`;
}

const marked = new Marked({
  renderer: {
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens);
      const address = addressOf(href);
      return address === null ? words : `<a href="${escaped(address)}">${words}</a>`;
    },
    // What is wide scrolls by itself, so it must be reachable by keyboard.
    code({ text }) {
      return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`;
    },
    table({ header, rows }) {
      const line = (cells: Tokens.TableCell[]) => `<tr>${cells.map((cell) => this.tablecell(cell)).join('')}</tr>`;
      const head = `<thead>${line(header)}</thead>`;
      const body = `<tbody>${rows.map(line).join('')}</tbody>`;
      const name = escaped(header.map(({ text }) => text).join(', '));
      return `<div role="region" aria-label="${name}" tabindex="0"><table>${head}${body}</table></div>\n`;
    },
  },
});

/** The text without its markup. */
function inWords({ tokens }: Tokens.Paragraph): string {
  return tokens.map((token) => ('text' in token ? token.text : token.raw)).join('');
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
