import { posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';

/** A page of the guides, ready to be shown. */
export interface Page {
  title: string;
  /** The first paragraph: of an error, its status and advice. */
  lead: string;
  /** The rest, as HTML. It comes from files of this repository, never from a visitor. */
  html: string;
  /** Its larger headings, for the list beside it. */
  sections: { id: string; name: string }[];
}

/** Which files of docs/ the demo shows, and under which address: `errors/failed.md` -> `/docs/errors/failed`. */
export type Addresses = ReadonlyMap<string, string>;

/**
 * Takes the title and the lead off, which the page shows in its own way, and renders the rest.
 *
 * @param file its name in docs/: what its relative links start from
 */
export function render(markdown: string, file: string, addresses: Addresses): Page {
  const [, ...anchors] = anchorsOf(markdown);
  const marked = markedFor((href) => addressOf(href, file, addresses), anchors.values());
  const tokens = marked.lexer(markdown).filter(({ type }) => type !== 'space' && type !== 'html');
  const [heading, lead, ...rest] = tokens;
  if (heading?.type !== 'heading' || lead?.type !== 'paragraph') {
    throw new Error(`docs/${file} must begin with a heading and one paragraph.`);
  }
  const names = rest.filter((token): token is Tokens.Heading => token.type === 'heading');
  const sections = names.map(({ depth, tokens: words }, at) => ({
    depth,
    id: anchors[at] ?? '',
    name: inWords(words),
  }));
  return {
    title: inWords((heading as Tokens.Heading).tokens),
    lead: inWords((lead as Tokens.Paragraph).tokens),
    html: marked.parser(rest),
    sections: listed(sections),
  };
}

/** The large headings; where there are hardly any, as in the reference, those below them too. */
function listed(headings: (Page['sections'][number] & { depth: number })[]): Page['sections'] {
  const large = headings.filter(({ depth }) => depth === 2);
  const shown = large.length < 3 ? headings.filter(({ depth }) => depth <= 3) : large;
  return shown.map(({ id, name }) => ({ id, name }));
}

/** Where a link of a file in docs/ leads in the demo; null for what the demo does not show. */
export function addressOf(href: string, file: string, addresses: Addresses): string | null {
  if (/^https?:\/\//.test(href) || href.startsWith('#')) return href;
  const [path = '', fragment] = href.split('#');
  const target = posix.join(posix.dirname(file), path);
  const address = addresses.get(target) ?? addresses.get(posix.join(target, 'README.md'));
  if (address === undefined) return null;
  return fragment === undefined ? address : `${address}#${fragment}`;
}

/** The fragments of a file's headings, in their order, as GitHub makes them: a name that comes again gets a number. */
export function anchorsOf(markdown: string): string[] {
  const headings = new Marked().lexer(markdown).filter((token): token is Tokens.Heading => token.type === 'heading');
  const seen = new Map<string, number>();
  return headings.map(({ tokens }) => {
    const anchor = inWords(tokens)
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

/** The text without its markup. */
function inWords(tokens: Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens ? inWords(token.tokens) : 'text' in token ? token.text : token.raw,
    )
    .join('');
}

function markedFor(addressFor: (href: string) => string | null, anchors: Iterator<string>): Marked {
  return new Marked({
    renderer: {
      // Comments are for those who read the source.
      html: () => '',
      heading({ depth, tokens }) {
        return `<h${depth} id="${escaped(anchors.next().value ?? '')}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        const address = addressFor(href);
        return address === null ? words : `<a href="${escaped(address)}">${words}</a>`;
      },
      code: ({ text, lang = '' }) => codeBlock(text, lang),
      // A wide block scrolls by itself, so it must be reachable by keyboard.
      table({ header, rows }) {
        // A header without words heads nothing.
        const cellOf = (cell: Tokens.TableCell) => this.tablecell({ ...cell, header: cell.header && cell.text !== '' });
        const line = (cells: Tokens.TableCell[]) => `<tr>${cells.map(cellOf).join('')}</tr>`;
        const head = header.some(({ text }) => text !== '') ? `<thead>${line(header)}</thead>` : '';
        const body = `<tbody>${rows.map(line).join('')}</tbody>`;
        const name = escaped(
          header
            .map(({ tokens }) => inWords(tokens))
            .filter(Boolean)
            .join(', '),
        );
        return `<div role="group" aria-label="${name}" tabindex="0"><table>${head}${body}</table></div>\n`;
      },
    },
  });
}

/** A block of code. Its first line, where that names a file, is shown above it. */
function codeBlock(text: string, lang: string): string {
  const [, name, rest] = /^\/\/ ([\w[\]()./-]+\.(?:tsx?|mjs|css|prisma)\b.*)\n([\s\S]*)$/.exec(text) ?? [];
  const lines = lang === 'diff' ? text.split('\n').map(changed).join('\n') : escaped(rest ?? text);
  const code = `<pre tabindex="0"><code>${lines}</code></pre>`;
  return name === undefined ? `${code}\n` : `<figure><figcaption>${escaped(name)}</figcaption>${code}</figure>\n`;
}

/** A line of a diff. */
function changed(line: string): string {
  const tag = { '+': 'ins', '-': 'del' }[line[0] ?? ''];
  return tag ? `<${tag}>${escaped(line)}</${tag}>` : escaped(line);
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
