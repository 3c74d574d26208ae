import { transformSync } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { isCode, titleOf, typeErrors } from './compile.ts';
import { diffSide } from './diff.ts';
import { markdownPages, readPage } from './pages.ts';

const pages = markdownPages();
const readme = pages.find(({ file }) => file === 'README.md');
if (!readme) throw new Error('There is no README.md.');
const sides = [diffSide(readme, 'before'), diffSide(readme, 'after')];

/** Faults to be found: a wrong name, a wrong type, a file that is not there; in a block, behind another one, in a list. */
const planted = readPage(
  'planted.md',
  [
    '```ts\n// lib/a.ts\nexport const one = 1;\n```',
    "```ts\nimport { one } from '@/lib/a';\nconst two: string = one;\n```",
    "- in a list\n\n  ```tsx\n  import './not-there';\n  <IdempotentForm action={placeOrder} intent={one} initialKey={two} />;\n  ```",
    '```ts fragment\n… not read\n```',
  ].join('\n\n'),
);

describe('the code of the docs', { tags: 'all' }, () => {
  let errors: string[] = [];
  beforeAll(() => {
    errors = typeErrors([...pages, ...sides, planted]);
  }, 180_000);

  test('compiles: every block of every page, and the README’s diff on both sides', () => {
    expect(errors.filter((error) => !error.startsWith('planted.md'))).toEqual([]);
  });

  test('is really read: what is wrong in a page is found', () => {
    expect(errors.filter((error) => error.startsWith('planted.md'))).toEqual([
      "planted.md:8: Type 'number' is not assignable to type 'string'.",
      expect.stringMatching(/^planted\.md:14: Cannot find module .*'\.\/not-there'/),
      "planted.md:15: Type 'number' is not assignable to type 'string'.",
    ]);
  });
});

// tsx runs the files of an app that does not say "type": "module" as CommonJS, which cannot wait. Next does not mind.
test('no file of the docs waits at its top', () => {
  const files = pages.flatMap(({ file, blocks }) =>
    blocks
      .filter((block) => isCode(block) && titleOf(block))
      .map((block) => ({ ...block, at: `${file}:${block.line}` })),
  );
  expect(files.length).toBeGreaterThan(20);
  const waits = ({ lang, text }: { lang: string; text: string }) => {
    try {
      transformSync(text, { loader: lang as 'ts' | 'tsx', format: 'cjs', logLevel: 'silent' });
    } catch (error) {
      return String(error).includes('Top-level await');
    }
  };
  expect(files.filter(waits).map(({ at }) => at)).toEqual([]);
});

test('there is much of it, and few fragments', () => {
  const blocks = pages.flatMap((page) => page.blocks);
  expect(blocks.filter(isCode).length).toBeGreaterThan(40);
  expect(blocks.filter(({ word }) => word === 'fragment').length).toBeLessThanOrEqual(2);
  expect(blocks.filter(({ lang }) => /^(js|jsx|typescript|javascript)$/.test(lang))).toEqual([]);
});

test('the diff has three files on each side', () => {
  expect(sides.map((side) => side.blocks.length)).toEqual([3, 3]);
});
