import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildApp, generateSources } from './build-app.ts';

let root: string;
let said: string[];

function write(file: string, content: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content);
}

const build = () => buildApp({ root, log: (line) => said.push(line) });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'build-'));
  said = [];
  // Stand-ins for the three tools, which leave what the real ones leave.
  const tool = (product: string) => `
    const fs = require('node:fs');
    if (fs.existsSync('broken')) { console.error('Type error: no such thing'); process.exit(1); }
    const product = process.env.DEMO_USE_OFFLINE ? '.data/builds/use-offline/BUILD_ID' : '${product}';
    fs.mkdirSync(require('node:path').dirname(product), { recursive: true });
    fs.writeFileSync(product, process.argv.slice(2) + ' ' + process.env.NODE_ENV);`;
  write('package.json', '{}');
  write('node_modules/next/dist/bin/next', tool('.next/BUILD_ID'));
  write('node_modules/prisma/build/index.js', tool('shop/generated/prisma/client.ts'));
  // It does the work of the script that it is to run: Node 20 reads no .ts.
  write('node_modules/tsx/index.js', `${tool('docs/reference/oncekit.md')}\nprocess.exit(0);`);
  write('app/page.tsx', 'one');
  write('prisma/schema.prisma', 'one');
});
afterEach(() => rmSync(root, { recursive: true }));

test('builds once, and again when a source changes', async () => {
  expect(await build()).toBe(true);
  expect(readFileSync(join(root, '.next/BUILD_ID'), 'utf8')).toBe('build undefined');
  expect(said).toEqual([
    'Generating the database client …',
    expect.stringMatching(/^Generating the database client took \d+\.\d s$/),
    'Writing docs/reference …',
    expect.stringMatching(/^Writing docs\/reference took/),
    'Building the app …',
    expect.stringMatching(/^Building the app took/),
  ]);
  expect(await build()).toBe(false);
  write('app/page.tsx', 'two');
  expect(await build()).toBe(true);
  expect(await build()).toBe(false);
});

test('a variant is built beside the others, in a folder of its own', async () => {
  await build();
  const variant = { cacheComponents: false, useOffline: true };
  expect(await buildApp({ root, variant, log: () => {} })).toBe(true);
  expect(existsSync(join(root, '.data/builds/use-offline/BUILD_ID'))).toBe(true);
  expect(await buildApp({ root, variant, log: () => {} })).toBe(false);
  expect(await build()).toBe(false);
  write('app/page.tsx', 'two');
  expect(await buildApp({ root, variant, log: () => {} })).toBe(true);
  expect(await build()).toBe(true);
});

test.each(['next.config.ts', 'package-lock.json', 'public/r/new.json', 'lib/core/key.ts', 'docs/a.md', 'proxy.ts'])(
  'builds again for a new %s',
  async (file) => {
    await build();
    write(file, 'new');
    expect(await build()).toBe(true);
  },
);

test('times alone, tests and the generated client are no reason to build', async () => {
  await build();
  utimesSync(join(root, 'app/page.tsx'), new Date(), new Date());
  write('lib/core/key.test.ts', 'new');
  write('lib/react/form.browser.test.tsx', 'new');
  write('lib/store/contract.testsuite.ts', 'new');
  write('lib/engine/shop.fixture.ts', 'new');
  write('lib/engine/shop.child.ts', 'new');
  write('shop/generated/prisma/other.ts', 'new');
  expect(await build()).toBe(false);
});

test('a failed build says why, and is tried again', async () => {
  await build();
  write('app/page.tsx', 'two');
  write('broken', '');
  await expect(build()).rejects.toThrow(/^Building the app failed:\nType error: no such thing/);
  rmSync(join(root, 'broken'));
  write('app/page.tsx', 'one');
  expect(await build()).toBe(true);
});

test('a build that was deleted is made again', async () => {
  await build();
  rmSync(join(root, '.next/BUILD_ID'));
  expect(await build()).toBe(true);
});

test('the client is generated when it is missing or the schema changed', async () => {
  expect(await generateSources({ root, log: () => {} })).toBe(true);
  expect(await generateSources({ root, log: () => {} })).toBe(false);
  write('prisma/schema.prisma', 'two');
  expect(await generateSources({ root, log: () => {} })).toBe(true);
  rmSync(join(root, 'shop/generated'), { recursive: true });
  expect(await generateSources({ root, log: () => {} })).toBe(true);
  expect(existsSync(join(root, 'shop/generated/prisma/client.ts'))).toBe(true);
});

test('the reference is written when it is missing or a source of the kit changed', async () => {
  await generateSources({ root, log: () => {} });
  expect(existsSync(join(root, 'docs/reference/oncekit.md'))).toBe(true);
  write('lib/core/key.test.ts', 'new');
  expect(await generateSources({ root, log: () => {} })).toBe(false);
  write('lib/core/key.ts', 'new');
  expect(await generateSources({ root, log: () => {} })).toBe(true);
  rmSync(join(root, 'docs/reference'), { recursive: true });
  expect(await generateSources({ root, log: () => {} })).toBe(true);
  expect(existsSync(join(root, 'docs/reference/oncekit.md'))).toBe(true);
});
