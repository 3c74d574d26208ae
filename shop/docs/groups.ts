import { Marked, type Tokens } from 'marked';
import { type Addresses, addressOf } from './render.ts';

/** A group of guides: a heading of the index and the list under it. */
export interface Group {
  name: string;
  guides: { href: string; name: string; text: string }[];
}

/** Reads the index: a title, a lead, then headings with lists of lines such as `[Name](x.md): what it is about`. */
export function readGroups(markdown: string, addresses: Addresses): { title: string; lead: string; groups: Group[] } {
  const [title, lead, ...rest] = new Marked().lexer(markdown).filter(({ type }) => type !== 'space');
  const groups: Group[] = [];
  for (const token of rest) {
    if (token.type === 'heading') groups.push({ name: token.text, guides: [] });
    if (token.type === 'list') groups.at(-1)?.guides.push(...guidesOf(token as Tokens.List, addresses));
  }
  return { title: (title as Tokens.Heading).text, lead: (lead as Tokens.Paragraph).text, groups };
}

/** Pages that the demo does not show are left out. */
function guidesOf({ items }: Tokens.List, addresses: Addresses): Group['guides'] {
  return items.flatMap(({ text: line }) => {
    const [, name, file, text] = /^\[([^\]]+)\]\(([^)]+)\)(?:: ([\s\S]*))?$/.exec(line) ?? [];
    const href = file && addressOf(file, 'README.md', addresses);
    return name && href ? [{ href, name, text: text?.replaceAll('`', '').replaceAll('\n', ' ') ?? '' }] : [];
  });
}
