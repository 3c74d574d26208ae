import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ADVICE, type Code } from 'oncekit';
import { describe, expect, test } from 'vitest';
import { addressOf, errorCodes, errorIndex, errorPage, render } from './docs.ts';

const FOLDER = resolve('docs/errors');
const CODES = Object.keys(ADVICE) as Code[];
/** By hand, from the contract (H2). */
const RETRYABLE = ['in_flight', 'outcome_unknown', 'rate_limited', 'unavailable', 'internal'];

/** Codes whose `detail` says more than the table's words: what was given to `fail`, or what is wrong with the body. */
const IN_OWN_WORDS = ['failed', 'malformed_body', 'unsupported_media_type', 'payload_too_large'];

const read = (name: string) => readFile(resolve(FOLDER, `${name}.md`), 'utf8');

test('H2 every code has a page, and every page is of a code', async () => {
  expect((await errorCodes()).sort()).toEqual([...CODES].sort());
});

describe.each(CODES)('H2 the page of %s', (code) => {
  test('says status and retry as the table does', async () => {
    const [title, , facts] = (await read(code)).split('\n');
    expect(title).toBe(`# ${code}`);
    expect(facts).toMatch(/^Status \d{3} · retry: [a-z-]+ · executed: .+ · contract: [A-Z]\d+(, [A-Z]\d+)*$/);
    const { status, retry } = ADVICE[code];
    expect(facts).toContain(`Status ${status} · retry: ${retry} · `);
  });

  test('shows an answer as the API gives it', async () => {
    const example = JSON.parse(/```json\n(.*?)```/s.exec(await read(code))?.[1] ?? '');
    const { idempotency_key: key, detail, instance, errors, reason, data, ...rest } = example;
    expect(rest).toEqual({
      type: `https://shop.example/docs/errors/${code}`,
      title: code.replaceAll('_', ' '),
      status: ADVICE[code].status,
      code,
      retryable: RETRYABLE.includes(code),
    });
    expect(key === null || typeof key === 'string').toBe(true);
    expect(detail === ADVICE[code].message).toBe(!IN_OWN_WORDS.includes(code));
    expect(instance).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(errors !== undefined).toBe(code === 'validation');
    expect([reason !== undefined, data !== undefined]).toEqual(Array(2).fill(code === 'failed'));
  });

  test('is shown by the demo', async () => {
    const page = await errorPage(code);
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
  const { html } = await errorIndex();
  for (const code of CODES) expect(html).toContain(`<a href="/docs/errors/${code}">${code}</a>`);
});

test.each(['README', ...CODES])('the links of %s lead to files, and to headings in them', async (name) => {
  for (const [, href = ''] of (await read(name)).matchAll(/\]\(([^)]+)\)/g)) {
    if (href.startsWith('https://')) continue;
    const [path = '', fragment] = href.split('#');
    const file = resolve(FOLDER, path);
    expect(existsSync(file), href).toBe(true);
    if (fragment === undefined) continue;
    const headings = (await readFile(file, 'utf8')).matchAll(/^#+ (.+)$/gm);
    expect([...headings].map(([, words = '']) => anchorOf(words))).toContain(fragment);
  }
});

test.each([
  ['failed.md', '/docs/errors/failed'],
  ['./failed.md', '/docs/errors/failed'],
  ['README.md', '/docs/errors'],
  ['https://www.rfc-editor.org/rfc/rfc9457', 'https://www.rfc-editor.org/rfc/rfc9457'],
  ['../phases.md', null],
  ['../adr/0004-422-for-a-mismatch.md', null],
  ['javascript:alert(1)', null],
])('a link to %s leads to %s', (href, address) => expect(addressOf(href)).toBe(address));

test('a link to a page that the demo does not show is left as its words', () => {
  const { lead, html } = render('# t\n\nfirst `code`\n\nSee [the *guide*](../phases.md) and [failed](failed.md).');
  expect(lead).toBe('first code');
  expect(html).toBe('<p>See the <em>guide</em> and <a href="/docs/errors/failed">failed</a>.</p>\n');
});

test.each(['nothing', '../phases', '../../package', 'README', ''])('there is no page of %j', async (code) => {
  expect(await errorPage(code)).toBeNull();
});

/** As GitHub makes the fragment of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
