import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ADVICE, type Code, refuse } from 'oncekit';
import { problemResponse } from 'oncekit/next';
import { describe, expect, test } from 'vitest';
import { docsAddresses } from './addresses.ts';
import { docsIndex, docsPage } from './pages.ts';
import { addressOf, anchorsOf, render } from './render.ts';

const FOLDER = resolve('docs/errors');
const CODES = Object.keys(ADVICE) as Code[];
/** Codes that pass on the reason which the operation gave. */
const SAY_WHY = ['failed', 'deferred', 'not_kept'];
/** Codes whose `detail` says more than the table's words: what was given to `fail`, or what is wrong with the body. */
const IN_OWN_WORDS = [...SAY_WHY, 'malformed_body', 'unsupported_media_type', 'payload_too_large'];

const read = (name: string) => readFile(resolve(FOLDER, `${name}.md`), 'utf8');

test('H2 every code has a page, and every page is of a code', async () => {
  const files = [...(await docsAddresses()).keys()].filter((file) => /^errors\/(?!README)/.test(file));
  expect(files.sort()).toEqual(CODES.map((code) => `errors/${code}.md`).sort());
});

describe.each(CODES)('H2 the page of %s', (code) => {
  test('says status and retry as the table does', async () => {
    const [title, , facts] = (await read(code)).split('\n');
    expect(title).toBe(`# ${code}`);
    expect(facts).toMatch(/^Status \d{3} · retry: [a-z-]+ · executed: .+$/);
    const { status, retry } = ADVICE[code];
    expect(facts).toContain(`Status ${status} · retry: ${retry} · `);
  });

  test('shows an answer as the API gives it', async () => {
    const example = JSON.parse(/```json\n(.*?)```/s.exec(await read(code))?.[1] ?? '');
    const { status, detail, instance, executed, retry, key, retryAfterMs, fieldErrors, reason, data } = example;
    const own = IN_OWN_WORDS.includes(code) ? { message: detail } : {};
    const refusal = refuse(code, { ...own, executed, retry, key, retryAfterMs, fieldErrors, reason, data });
    const asked = new Request('https://shop.example/api/orders');
    const answer = problemResponse(refusal, asked, { status, instance, errorPages: '/docs/errors' });
    expect(example).toEqual(await answer.json());
    expect([true, false, 'unknown']).toContain(executed);
    expect(instance).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(fieldErrors !== undefined).toBe(code === 'validation');
    expect([reason !== undefined, data !== undefined]).toEqual([SAY_WHY.includes(code), code === 'failed']);
  });

  test('is shown by the demo', async () => {
    const page = await docsPage(['errors', code]);
    expect(page?.title).toBe(code);
    expect(page?.lead).toContain(`Status ${ADVICE[code].status} · `);
    expect(page?.html).toContain('What to do');
    expect(page?.html).not.toContain('.md"');
  });
});

test('H2 the index lists every code as the table has it, in its order', async () => {
  const rows = [...(await read('README')).matchAll(/^\| \[(\w+)\]\((\w+)\.md\) \| (\d+) \| ([a-z-]+) \| .+\.? \|$/gm)];
  const listed = rows.map(([, code, file, status, retry]) => [code, file, Number(status), retry]);
  expect(listed).toEqual(CODES.map((code) => [code, code, ADVICE[code].status, ADVICE[code].retry]));
  const page = await docsPage(['errors']);
  for (const code of CODES) expect(page?.html).toContain(`<a href="/docs/errors/${code}">${code}</a>`);
});

const ADDRESSES = new Map([
  ['README.md', '/docs'],
  ['phases.md', '/docs/phases'],
  ['errors/README.md', '/docs/errors'],
  ['errors/failed.md', '/docs/errors/failed'],
]);

test.each([
  ['failed.md', '/docs/errors/failed'],
  ['./failed.md#example', '/docs/errors/failed#example'],
  ['README.md', '/docs/errors'],
  ['../errors/', '/docs/errors'],
  ['../phases.md', '/docs/phases'],
  ['../README.md', '/docs'],
  ['#example', '#example'],
  ['https://www.rfc-editor.org/rfc/rfc9457', 'https://www.rfc-editor.org/rfc/rfc9457'],
  ['../adr/0004-422-for-a-mismatch.md', null],
  ['../../README.md#quick-start', null],
  ['../orders/sale.ts', null],
  ['javascript:alert(1)', null],
])('a link of an error page to %s leads to %s', (href, address) => {
  expect(addressOf(href, 'errors/failed.md', ADDRESSES)).toBe(address);
});

test('a link to a file that the demo does not show is left as its words', () => {
  const page = render('# t\n\nfirst `code`\n\nSee [the *code*](../lib/x.ts) and [p](phases.md#a).', 'x.md', ADDRESSES);
  expect(page.lead).toBe('first code');
  expect(page.html).toBe('<p>See the <em>code</em> and <a href="/docs/phases#a">p</a>.</p>\n');
});

test('a table scrolls by itself, is no landmark, and has no empty header', () => {
  const { html } = render('# t\n\nlead\n\n| a | |\n|---|---|\n| 1 | 2 |', 'x.md', ADDRESSES);
  expect(html).toContain('<div role="group" aria-label="a" tabindex="0">');
  expect(html.match(/<th>/g)).toHaveLength(1);
});

test('headings are named as GitHub names them, and listed', () => {
  const page = render("# t\n\nlead\n\n## `fail`: what's kept?\n\n### Same\n\n## Same\n", 'x.md', ADDRESSES);
  expect(page.sections).toEqual([
    { id: 'fail-whats-kept', name: "fail: what's kept?" },
    { id: 'same', name: 'Same' },
    { id: 'same-1', name: 'Same' },
  ]);
  expect(page.html).toContain('<h3 id="same">Same</h3>');
  expect(anchorsOf('# A\n\n## B_c & d')).toEqual(['a', 'b_c--d']);
});

test('of code, the file is named above it, a diff shows what changes, and nothing of it is HTML', () => {
  const show = (block: string) => render(`# t\n\nlead\n\n\`\`\`${block}\n\`\`\``, 'x.md', ADDRESSES).html;
  expect(show('ts\n// lib/a.ts: once\nf<T>()')).toBe(
    '<figure><figcaption>lib/a.ts: once</figcaption><pre tabindex="0"><code>f&lt;T&gt;()</code></pre></figure>\n',
  );
  expect(show('sh\n# a\n<b>')).toBe('<pre tabindex="0"><code># a\n&lt;b&gt;</code></pre>\n');
  expect(show('diff\n-a\n+b\n c')).toContain('<del>-a</del>\n<ins>+b</ins>\n c');
});

test('every guide is in the index, and every one can be opened', async () => {
  const { groups } = await docsIndex();
  const listed = groups.flatMap(({ guides }) => guides.map(({ href }) => href));
  // The index, and two lists that only those who work on the kit read.
  const besides = ['README.md', 'flaky.md', 'test-runs.md'];
  const names = (await readdir(resolve('docs'))).filter((name) => name.endsWith('.md') && !besides.includes(name));
  const guides = names.map((name) => `/docs/${name.slice(0, -'.md'.length)}`);
  expect(guides.filter((href) => !listed.includes(href))).toEqual([]);
  for (const href of new Set([...listed, ...(await docsAddresses()).values()].filter((one) => one !== '/docs'))) {
    expect((await docsPage(href.split('/').slice(2)))?.title, href).toBeTruthy();
  }
});

test('no link of a shown page is dead', async () => {
  const addresses = [...(await docsAddresses()).values()];
  const pages = new Map<string, string>();
  for (const address of addresses) pages.set(address, (await docsPage(address.split('/').slice(2)))?.html ?? '');
  const links = [...pages].flatMap(([from, html]) =>
    [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => (href.startsWith('#') ? `${from}${href}` : href)),
  );
  const inside = links.filter((href) => href.startsWith('/'));
  expect(inside.length).toBeGreaterThan(100);
  const dead = inside.filter((href) => {
    const [path = '', fragment] = href.split('#');
    return !pages.has(path) || (fragment !== undefined && !pages.get(path)?.includes(`id="${fragment}"`));
  });
  expect(dead).toEqual([]);
});

test.each([
  ...['nothing', '..', '../README', '../package', 'README', '', 'phases.md', 'adr', 'screenshots'].map((name) => [
    name,
  ]),
  ...[
    ['errors', '..', 'phases'],
    ['errors', 'README'],
    ['errors', ''],
    ['adr', '0004-422-for-a-mismatch'],
  ],
  [],
])('there is no page of %j %j %j', async (...path: string[]) => {
  expect(await docsPage(path)).toBeNull();
});
