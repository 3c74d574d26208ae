import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf } from '../../shop/docs/render.ts';
import { type MarkdownPage, markdownPages, readPage, root } from './pages.ts';

const pages = markdownPages();

/** Faults in the links of a page: a misspelt address, a file that is not there, or a heading that is not in it. */
function deadLinks({ file, text, links }: MarkdownPage): string[] {
  return links.filter((href) => {
    if (/^https?:/.test(href)) return !URL.canParse(href) || /\s/.test(href);
    const [name = '', fragment] = href.split('#');
    const target = name === '' ? file : path.join(path.dirname(file), name);
    const at = path.join(root, target);
    if (path.isAbsolute(name) || (target !== file && !existsSync(at))) return true;
    if (fragment === undefined) return false;
    if (!target.endsWith('.md')) return true;
    return !anchorsOf(target === file ? text : readFileSync(at, 'utf8')).includes(fragment);
  });
}

test('there are pages, and links in them', () => {
  expect(pages.length).toBeGreaterThan(40);
  expect(pages.flatMap(({ links }) => links).length).toBeGreaterThan(100);
});

test.each(pages.map((page) => [page.file, page] as const))('the links of %s lead somewhere', (_, page) => {
  expect(deadLinks(page)).toEqual([]);
});

/** The rows of the page's tables, without their headings. */
function tableRows(file: string): string[] {
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n');
  return lines.filter((line, at) => line.startsWith('|') && lines[at - 1]?.startsWith('|') && !/^\|---/.test(line));
}

const NAMES_A_TEST = /\]\(\.\.\/[\w/.-]+\.(?:test\.tsx?|e2e\.ts)\) \|$/;

test('every failure names the test that holds it', () => {
  const failures = tableRows('docs/failures.md');
  expect(failures.length).toBeGreaterThan(50);
  expect(failures.filter((row) => !NAMES_A_TEST.test(row))).toEqual([]);
});

test('every attack names the test that shows it stopped', () => {
  const attacks = tableRows('docs/threat-model.md').filter((row) => row.split('|').length > 4);
  expect(attacks.length).toBeGreaterThan(20);
  expect(attacks.filter((row) => !NAMES_A_TEST.test(row))).toEqual([]);
});

/** The decisions as their own pages tell them: number, title, file, and by which other one it is superseded. */
function decisions(): string[][] {
  const pagesOfDecisions = pages.filter(({ file }) => /^docs\/adr\/\d/.test(file));
  return pagesOfDecisions.map(({ file, text }) => {
    const [, number = '', title = ''] = /^# (\d+)[.:] (.+)\n/.exec(text) ?? [];
    const [, successor = ''] = /(?:Superseded|Replaced) by \[ADR (\d+)\]/.exec(text) ?? [];
    return [String(Number(number)), title, path.basename(file), successor];
  });
}

test('the list of decisions has each one, and says which is superseded', () => {
  const listed = tableRows('docs/adr/README.md').map((row) => {
    const [, number = '', title = '', file = '', status = ''] =
      /^\| (\d+) \| \[(.+)\]\(([^)]+)\) \| (.+) \|$/.exec(row) ?? [];
    return [number, title, file, /^superseded by \[(\d+)\]/.exec(status)?.[1] ?? ''];
  });
  expect(listed).toEqual(decisions());
});

test('the pictures that git keeps are those that pages show', () => {
  const shown = pages.flatMap(({ links }) => links.filter((href) => href.includes('screenshots/')));
  const lines = readFileSync(path.join(root, '.gitignore'), 'utf8').matchAll(/^!\/docs\/screenshots\/(.+)\*(\.\w+)$/gm);
  const patterns = [...lines].map(([, name = '', type = '']) => [name, type] as const);
  const isKept = (file: string) => patterns.some(([name, type]) => file.startsWith(name) && file.endsWith(type));
  const kept = readdirSync(path.join(root, 'docs/screenshots')).filter(isKept);
  expect(shown.map((href) => path.basename(href)).sort()).toEqual(kept.sort());
});

test('a dead link is found: a file, a heading, a picture, an address, a place on this machine', () => {
  const dead = [
    'not-there.md',
    'phases.md#not-there',
    '#nowhere',
    '../lib/core/key.ts#L1',
    '/docs/phases.md',
    'http://',
  ];
  const alive = [
    'phases.md#choosing-indeterminate',
    '#here',
    '../lib/core/key.ts',
    'adr/',
    'https://www.postgresql.org',
  ];
  const text = `# t\n\n## Here\n\n${[...dead, ...alive].map((href) => `- [x](${href})`).join('\n')}\n\n<img src="no.png">\n`;
  expect(deadLinks(readPage('docs/x.md', text))).toEqual([...dead, 'no.png']);
});
