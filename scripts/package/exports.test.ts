import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { publicEntries, publicExports } from './public-exports.ts';

const entries = publicEntries();
const found = publicExports();

describe('what the package exports', () => {
  /** A name that goes, or that changes its kind, breaks other people's apps: it needs a line in CHANGELOG.md. */
  test('is what it was', async () => {
    const listed = [...found].map(([entry, names]) => {
      const lines = names.map(({ name, kind }) => `  ${name}: ${kind}`);
      return [entry, ...lines].join('\n');
    });
    await expect(`${listed.join('\n\n')}\n`).toMatchFileSnapshot('exports.snapshot.txt');
  });

  test.each([...entries])(
    '%s has at run time the values that its types promise',
    { timeout: 60_000 },
    async (entry, file) => {
      const module: object = await import(pathToFileURL(file).href);
      const promised = found.get(entry)?.filter(({ kind }) => kind !== 'type');
      expect(Object.keys(module).sort()).toEqual(promised?.map(({ name }) => name));
    },
  );
});
