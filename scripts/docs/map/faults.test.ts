import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Rooms } from './drawing.ts';
import { mapFaults, withDrawing } from './faults.ts';

const ROOMS: Rooms = {
  app: { may: ['entries'] },
  'lib/next': { may: ['lib/core', 'lib/worker/passes.ts'] },
  'lib/worker': { may: ['lib/core', 'lib/store'] },
  'lib/store/prisma': { may: ['lib/store'] },
  'lib/store': { may: ['lib/core'] },
  'lib/core': { may: [] },
};

const MAP = `# Architecture

| question | file and symbol |
|---|---|
| where a key is minted | \`mint\` in [\`issueKey\`](lib/next/index.ts), [\`reap\`, \`fence\`](lib/store/prisma/keys.ts) |

<!-- drawn by \`npm run map -- --write\` -->
<!-- /drawn -->

## The way of one submit

1. The page mints the key: \`issueKey\`.

## States
`;

/** A repository in order. */
const SOUND = sound({
  'ARCHITECTURE.md': MAP,
  'app/page.tsx': "import { issueKey } from 'oncekit/next';\n",
  'lib/next/index.ts':
    "import '../core/key.ts';\nimport '../worker/passes.ts';\nexport function issueKey() {\n  const mint = () => 1;\n}\n",
  'lib/next/index.test.ts': "import '../store/store.ts';\n",
  'lib/worker/passes.ts': "import type { Key } from '../core/key.ts';\nimport { Store } from '../store/store.ts';\n",
  'lib/store/store.ts': "import type { Key } from '../core/key.ts';\n",
  'lib/store/prisma/keys.ts':
    "import { Store } from '../store.ts';\nexport const reap = 1;\nexport async function fence() {}\n",
  'lib/core/key.ts':
    '/** As keys.ts and prisma/keys.ts have it, and lib/operations.ts of an app; x.test.ts is its test. */\n',
  'prisma/kit/0001_keys.sql': '-- See lib/core/key.ts.\nSELECT 1;\n',
});

function sound(files: Record<string, string>): Map<string, string> {
  const map = new Map(Object.entries(files));
  return map.set('ARCHITECTURE.md', withDrawing(map, ROOMS));
}

function said(change: Record<string, string> = {}, rooms = ROOMS): string[] {
  const files = new Map([...SOUND, ...Object.entries(change)]);
  return mapFaults(files, rooms).map(({ file, line, advice }) => `${file}:${line} ${advice}`);
}

const drawn = SOUND.get('ARCHITECTURE.md') ?? '';

test('nothing is wrong with a repository in order', () => {
  expect(said()).toEqual([]);
});

test('arrows are drawn as the rules have them: one file of a room, the port beside its database, the entries', () => {
  const arrows = Array.from(drawn.matchAll(/^ {2}(\w+ --.*)$/gm), ([, arrow]) => arrow);
  expect(arrows).toEqual([
    'app --> entries',
    'next -->|passes.ts alone| worker',
    'worker --> store',
    'storeprisma --> store',
  ]);
  expect(drawn).toContain('next["next (oncekit/next)"]');
  expect(drawn).toContain('Not drawn: `next`, `worker`, `store` may import `core`.');
});

test('an arrow that the rules have, and the drawing has not, is found', () => {
  const { 'lib/worker': worker, ...others } = ROOMS;
  expect(said({}, { ...others, 'lib/worker': { may: ['lib/core'] } })).toEqual([
    'ARCHITECTURE.md:7 does not draw the rules of .dependency-cruiser.mjs. Run `npm run map -- --write`.',
  ]);
  expect(worker?.may).toContain('lib/store');
  expect(said({ 'ARCHITECTURE.md': '# Architecture\n' })[0]).toMatch(/has no place for the drawing/);
});

test.each([
  ['a room, of which a test alone is there', 'lib/next', 'lib/store'],
  ['another file of a room', 'lib/next', 'lib/worker/worker.ts'],
  ['a room through the room below it', 'lib/store', 'lib/store/prisma'],
  ['the entries', 'lib/worker', 'entries'],
])('an arrow that nobody uses is found: to %s', (_, from, to) => {
  const rooms = { ...ROOMS, [from]: { may: [...(ROOMS[from]?.may ?? []), to] } };
  expect(said({}, rooms)).toContain(
    `.dependency-cruiser.mjs:1 lets ${from} import ${to}, and it does not. Take the arrow out.`,
  );
});

test.each([
  [
    'a symbol',
    '`issueKey`](lib/next',
    '`mintKey`](lib/next',
    'looks for mintKey in lib/next/index.ts, which does not declare it.',
  ],
  [
    'the second of two',
    '`fence`]',
    '`forget`]',
    'looks for forget in lib/store/prisma/keys.ts, which does not declare it.',
  ],
  ['what is within one', '`mint` in', '`renew` in', 'looks for renew in lib/next/index.ts, which does not declare it.'],
  ['a file', 'prisma/keys.ts)', 'prisma/hold.ts)', 'names lib/store/prisma/hold.ts, which is gone.'],
  [
    'a file without a symbol',
    '[`reap`, `fence`](lib/store/prisma/keys.ts)',
    '[hold.ts](lib/hold.ts)',
    'names lib/hold.ts, which is gone.',
  ],
])('what the map looks for, and is not there, is found: %s', (_, there, gone, advice) => {
  expect(said({ 'ARCHITECTURE.md': drawn.replace(there, gone) })).toEqual([`ARCHITECTURE.md:5 ${advice}`]);
});

test('a name of the ways that nothing declares is found', () => {
  const map = drawn.replace('key: `issueKey`', 'key: `mintKey`');
  const line = map.split('\n').findIndex((text) => text.includes('`mintKey`')) + 1;
  expect(said({ 'ARCHITECTURE.md': map })).toEqual([
    `ARCHITECTURE.md:${line} names mintKey, which nothing in lib declares.`,
  ]);
});

test.each([
  ['a comment', 'lib/core/other.ts', '\nconst a = 1; // see hold.ts\n', 'hold.ts'],
  ['a docstring', 'components/form.tsx', '\n/** As in `keys/take.ts`. */\n', 'keys/take.ts'],
  ['a comment of a test', 'lib/core/key.test.ts', '\n// As ./hold.ts has it.\n', 'hold.ts'],
  ['a file by another folder', 'scripts/a.mjs', '\n// lib/core/keys.ts\n', 'lib/core/keys.ts'],
  ['a migration', 'prisma/kit/0002_keys.sql', 'SELECT 1;\n-- As docs/gone.md has it.\n', 'docs/gone.md'],
  ['a model', 'prisma/key.prisma', '\n// take.ts\n', 'take.ts'],
  ['a page about the code', 'docs/internals/calls.md', '\n`take.ts`\n', 'take.ts'],
])('a file that is gone is found in %s', (_, file, content, gone) => {
  expect(said({ [file]: content })).toEqual([
    `${file}:2 a comment names ${gone}, which is gone. Name the file that has its part now, or none.`,
  ]);
});

test('in code, in other pages, and of other packages, a name may be anything', () => {
  expect(
    said({
      'lib/core/other.ts': "const file = 'hold.ts';\n// next/headers.js, https://example.com/a.ts and @scope/a.ts\n",
      'docs/guide.md': 'Write it into hold.ts.\n',
    }),
  ).toEqual([]);
});

test('the map answers first, and what is read behind its tables takes ten minutes', () => {
  const map = readFileSync('ARCHITECTURE.md', 'utf8');
  const [intro = '', look = '', ...others] = map.split(/^## /m);
  expect(intro.split(/\s+/).length).toBeLessThan(150);
  expect(look).toMatch(/^Where to look\n/);
  // A row is found by its question, not read from the first one on.
  const rows = look.split('\n').filter((line) => line.startsWith('| '));
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter((row) => row.split(/\s+/).length > 40)).toEqual([]);
  const ways = others.filter((part) => part.startsWith('The way of'));
  expect(ways.map((way) => way.trim().split('\n').length).filter((lines) => lines > 40)).toEqual([]);
  expect(ways).toHaveLength(3);
  expect(
    others
      .join('')
      .replace(/^```[\s\S]*?^```/gm, '')
      .split(/\s+/).length,
  ).toBeLessThan(2000);
});
