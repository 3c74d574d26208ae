import { expect, test } from 'vitest';
import { treeOf } from '../app/app.fixture.ts';
import { checkPages } from './pages.ts';
import { readWindow } from './window.ts';

const page = (body: string, before = '') => `import { issueKey } from 'oncekit/next';
import { sign } from '@/lib/sign';
${before}
export default async function Page() {
  ${body}
}
`;

const look = (files: Record<string, string>) => checkPages(treeOf(files), 'app');

test.each([
  ['issues one for each request', 'const key = await issueKey(sign);\n  return <Form initialKey={key} />;', ''],
  ['issues one in a helper', 'return <Form initialKey={await fresh()} />;', 'const fresh = () => issueKey(sign);'],
  ['has the words in a comment', "return 'issueKey(sign)';", '// const key = await issueKey(sign); use cache'],
  [
    'caches something else',
    "async function rates() { 'use cache'; return 1; }\n  return <Form initialKey={await issueKey(sign)} />;",
    '',
  ],
  ['is static and issues none', 'return null;', "export const dynamic = 'force-static';"],
])('a page that %s is well', (_, body, before) => {
  expect(look({ 'app/page.tsx': page(body, before) })).toMatchObject([{ level: 'ok' }]);
});

test.each([
  [
    'issues at module level',
    page('return <Form initialKey={await key} />;', 'const key = issueKey(sign);'),
    'app/page.tsx:3 issues a key once',
  ],
  [
    'caches itself',
    page("'use cache';\n  return <Form initialKey={await issueKey(sign)} />;"),
    'app/page.tsx:6 issues a key inside a cache',
  ],
  [
    'is in a cached file',
    `'use cache';\n${page('return <Form initialKey={await issueKey(sign)} />;')}`,
    'inside a cache',
  ],
  [
    'issues inside unstable_cache',
    page('return <Form initialKey={await cached()} />;', 'const cached = unstable_cache(() => issueKey(sign));'),
    'app/page.tsx:3 issues a key inside a cache',
  ],
  [
    'is forced to be static',
    page('return <Form initialKey={await issueKey(sign)} />;', "export const dynamic = 'force-static';"),
    "app/page.tsx says dynamic = 'force-static', and issues a key",
  ],
  [
    'draws its key',
    '\'use client\';\nexport function Form() {\n  const [key] = useState(() => crypto.randomUUID());\n  return <input name="idempotency_key" value={key} />;\n}\n',
    'app/page.tsx:3 draws a key while it renders',
  ],
])('a page that %s is found, with its line and the fix', (_, source, says) => {
  const found = look({ 'app/page.tsx': source });
  expect(found).toMatchObject([{ level: 'problem', says: expect.stringContaining(says), fix: expect.any(String) }]);
});

test('a layout speaks for the pages below it, and for no other', () => {
  const layout = "export const dynamic = 'force-static';";
  const issuing = page('return <Form initialKey={await issueKey(sign)} />;');
  const files = { 'app/shop/layout.tsx': layout, 'app/shop/checkout/page.tsx': issuing };
  expect(look(files)).toMatchObject([
    { says: expect.stringContaining('app/shop/checkout/page.tsx below it issues a key') },
  ]);
  expect(look({ 'app/docs/layout.tsx': layout, 'app/shop/page.tsx': issuing })).toMatchObject([{ level: 'ok' }]);
});

const HOUR = 3_600_000;

test.each([
  ['', { windowMs: 24 * HOUR, retentionMs: 25 * HOUR }],
  ["window: '2h'", { windowMs: 2 * HOUR, retentionMs: 3 * HOUR }],
  ["window: 7_200_000, // two hours\n  retention: '1d',", { windowMs: 2 * HOUR, retentionMs: 24 * HOUR }],
  ["scope: () => { if (typeof window === 'undefined') return null; }", { windowMs: 24 * HOUR, retentionMs: 25 * HOUR }],
  ["phasesRetention: '9d'", { windowMs: 24 * HOUR, retentionMs: 25 * HOUR }],
  ['window: WINDOW', undefined],
  ['window,', undefined],
])('the window of createIdempotency({ %s })', (inside, expected) => {
  expect(
    readWindow(
      `const other = { window: '9h', retention: '3h' };\nexport const idempotency = createIdempotency({ prisma, ${inside} });`,
    ),
  ).toEqual(expected);
});
