import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { docsAddresses } from '../../shop/docs/addresses.ts';
import { llmsFiles } from './llms.ts';
import { root } from './pages.ts';

const files = llmsFiles();
const linksOf = (text = '') => [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, href = '']) => href);

describe('llms.txt', () => {
  test.each(Object.entries(files))('%s is what the index of the docs says: npm run build:llms', (file, text) => {
    expect(readFileSync(path.join(root, file), 'utf8')).toBe(text);
    expect(text).toMatch(/^# oncekit\n\n> .+\n\n- An operation is/);
  });

  test('leads to pages of the package', () => {
    const links = linksOf(files['llms.txt']);
    expect(links).toEqual(
      expect.arrayContaining(['docs/quick-start.md', 'docs/phases.md', 'docs/reference/oncekit.md']),
    );
    expect(links.filter((href) => !existsSync(path.join(root, href)))).toEqual([]);
  });

  test('leads to pages of the demo', async () => {
    const links = linksOf(files['public/llms.txt']);
    expect(links).toEqual(expect.arrayContaining(['/docs/quick-start', '/docs/errors', '/docs/reference/oncekit']));
    const shown = [...(await docsAddresses()).values()];
    expect(links.filter((href) => !shown.includes(href))).toEqual([]);
  });
});
