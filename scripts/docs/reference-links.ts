/** The places that describe a name: the entries that export it. */
export type Homes = ReadonlyMap<string, readonly string[]>;

export function homesOf(exported: ReadonlyMap<string, readonly { name: string }[]>): Homes {
  const homes = new Map<string, string[]>();
  for (const [entry, all] of exported) {
    for (const { name } of all) homes.set(name, [...(homes.get(name) ?? []), entry]);
  }
  return homes;
}

/** The file of an entry's page in docs/reference: `oncekit/next` -> `next.md`. */
export function pageName(entry: string): string {
  return `${entry.replace(/^oncekit\//, '')}.md`;
}

/** A page with a line under each export that leads to the public names in its types. */
export function withLinks(page: string, entry: string, homes: Homes): string {
  return page
    .split(/(?=^### )/m)
    .map((section) => {
      const [, own] = /^### (\w+)/.exec(section) ?? [];
      if (!own) return section;
      const [text = '', behind = ''] = section.split(/(?=^## )/m);
      const named = new Set(codeOf(text).match(/\b[A-Z]\w+\b/g));
      const links = [...named]
        .filter((name) => name !== own && homes.has(name))
        .sort()
        .map((name) => `[${name}](${addressOf(name, entry, homes)})`);
      return links.length > 0 ? `${text.trimEnd()}\n\nSee ${links.join(', ')}.\n\n${behind}` : section;
    })
    .join('')
    .replace(/\n+$/, '\n');
}

/** Declarations and types: what stands in a block of code, and in the second column of a table. */
function codeOf(section: string): string {
  const blocks = [...section.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  const types = [...section.matchAll(/^\| `[^`]+` \| `([^`]+)` \|/gm)].map(([, type]) => type);
  return [...blocks.slice(0, 1), ...types].join('\n').replaceAll(/'[^'\n]*'/g, '');
}

/** On the same page where it is there too. */
function addressOf(name: string, entry: string, homes: Homes): string {
  const at = homes.get(name) ?? [];
  const page = at.includes(entry) ? '' : pageName(at[0] ?? entry);
  return `${page}#${name.toLowerCase()}`;
}
