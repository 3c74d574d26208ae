import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';
import { transformSync } from 'esbuild';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { markdownPages } from '../docs/pages.ts';
import { publicEntries } from './public-exports.ts';

const root = path.resolve(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const kit = ts.parseConfigFileTextToJson('', readFileSync(path.join(root, 'tsconfig.kit.json'), 'utf8')).config;

/** The sources of what is published: what the build begins with, and all that leads to. */
function publishedSources(): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    const text = readFileSync(file, 'utf8');
    found.set(file, text);
    for (const name of importsOf(text)) if (name.startsWith('.')) visit(path.resolve(path.dirname(file), name));
  };
  for (const entry of kit.files) visit(path.join(root, entry));
  return found;
}

const importsOf = (text: string) => ts.preProcessFile(text, true, false).importedFiles.map(({ fileName }) => fileName);

/** What the build makes of a source: without its types, and the imports of types alone. */
const asBuilt = (file: string) =>
  transformSync(sources.get(file) ?? '', {
    loader: file.endsWith('x') ? 'tsx' : 'ts',
    jsx: 'automatic',
    minifyWhitespace: true, // and without comments
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  }).code;

/** `next/headers.js` and `@prisma/client/x` belong to `next` and `@prisma/client`. */
const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;

/** A version as a number that can be compared. */
const order = (version: string) => [0, 1, 2].reduce((sum, at) => sum * 10_000 + Number(version.split('.')[at] ?? 0), 0);

/** The lowest version that may break what works with this one: the next major one, or minor one before 1.0. */
function next(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return order(major > 0 ? `${major + 1}` : `0.${minor + 1}`);
}

const sources = publishedSources();
const used = new Map<string, string>();
for (const [file, text] of sources) {
  for (const name of importsOf(text)) {
    if (!name.startsWith('.') && !/^node:/.test(name)) used.set(packageOf(name), path.relative(root, file));
  }
}

describe('package.json', () => {
  test('exports the entries that the repository itself uses by name, each from its own file', () => {
    const { './package.json': own, ...entries } = manifest.exports;
    expect(own).toBe('./package.json');
    const emitted = (file: string) => `./${file.replace(/^lib\//, 'dist/').replace(/\.ts$/, '')}`;
    const wanted = [...publicEntries()].map(([name, file]) => [
      name.replace(/^oncekit/, '.'),
      { types: `${emitted(file)}.d.ts`, default: `${emitted(file)}.js` },
    ]);
    expect(entries).toEqual(Object.fromEntries(wanted));
    expect(kit.files).toEqual(expect.arrayContaining([...publicEntries().values()]));
  });

  test('brings along every package that the kit imports, and no other', () => {
    const builtin = [...used].filter(([name]) => builtinModules.includes(name));
    expect(builtin, 'import Node’s own modules as node:…').toEqual([]);
    const { dependencies, peerDependencies } = manifest;
    const missing = [...used].filter(([name]) => !(name in dependencies) && !(name in peerDependencies));
    expect(missing).toEqual([]);
    expect(Object.keys(dependencies).filter((name) => !used.has(name))).toEqual([]);
  });

  // tsx makes `require` of the imports of an app that does not say "type": "module", and of those of the kit.
  test('brings along no package that an app of CommonJS cannot resolve', () => {
    const names = [...sources.values()].flatMap(importsOf).filter((name) => packageOf(name) in manifest.dependencies);
    expect(new Set(names.map(packageOf)).size).toBe(Object.keys(manifest.dependencies).length);
    const { resolve } = createRequire(import.meta.url);
    for (const name of names) expect(() => resolve(name), name).not.toThrow();
  });

  test('takes dependencies in ranges, so that an app has one of each', () => {
    const { dependencies } = manifest as { dependencies: Record<string, string> };
    expect(Object.entries(dependencies).filter(([, range]) => !range.startsWith('^'))).toEqual([]);
  });

  test('takes peers up to the major version that is tested here, and no further', () => {
    const { peerDependencies, devDependencies } = manifest as Record<string, Record<string, string>>;
    const wrong = Object.entries(peerDependencies ?? {}).filter(([name, range]) => {
      const [, from = '', below = ''] = /^>=([\d.]+) <([\d.]+)$/.exec(range) ?? [];
      const tried = devDependencies?.[name] ?? '';
      return !(from && order(from) <= order(tried) && order(tried) < order(below) && order(below) <= next(tried));
    });
    expect(wrong).toEqual([]);
  });

  test('is what npm shows of it: words to find it by, who made it, and no address that leads nowhere', () => {
    expect(manifest.keywords).toEqual(expect.arrayContaining(['idempotency', 'nextjs', 'prisma', 'postgresql']));
    expect(manifest).toMatchObject({
      description: expect.stringMatching(/./),
      license: 'MIT',
      author: expect.stringMatching(/./),
    });
    const { repository, homepage, bugs } = manifest;
    const addresses = [repository?.url ?? repository, homepage, bugs?.url ?? bugs].filter((each) => each !== undefined);
    expect(addresses.filter((address) => !/^(git\+)?https:\/\/[\w.-]+\//.test(address))).toEqual([]);
  });

  test('runs nothing when it is installed', () => {
    const hooks = ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare', 'postprepare'];
    expect(Object.keys(manifest.scripts).filter((name) => hooks.includes(name))).toEqual([]);
  });

  test('can be published, and is for the Node that it says', () => {
    expect(manifest.private).toBeUndefined();
    expect(manifest.type).toBe('module');
    expect(manifest.engines.node).toBe('>=20.19');
  });
});

const isSource = (file: string) =>
  /^(lib|e2e|scripts|shop|app|components|bench|simulators|prisma)\/|^next\.config\.ts$/.test(file);
const isPicture = (file: string) => /\.(webp|png|svg)$/.test(file);

describe('what is published', () => {
  test('has no test and nothing of the demo among its sources', () => {
    const files = [...sources.keys()].map((file) => path.relative(root, file));
    const strange = files.filter((file) => /^(?!lib\/)|\.(test|testsuite|fixture|child)\./.test(file));
    expect(strange).toEqual([]);
  });

  // Next's webpack brings a Buffer of 27 kB along for a module that names it, also where what names it is not used.
  test('names nothing of Node that a bundler would bring along to browsers', () => {
    const isForBrowsers = (file: string) =>
      /\/lib\/(react|http)\/index\.ts$/.test(file) || /^'use client'/.test(sources.get(file) ?? '');
    const named: string[] = [];
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      const code = asBuilt(file);
      const [ofNode] = /(?<![\w.$])(Buffer|setImmediate)\b/.exec(code) ?? [];
      if (ofNode) named.push(`${path.relative(root, file)}: ${ofNode}`);
      for (const name of importsOf(code)) if (name.startsWith('.')) visit(path.resolve(path.dirname(file), name));
    };
    for (const file of [...sources.keys()].filter(isForBrowsers)) visit(file);
    expect(seen.size).toBeGreaterThan(30);
    expect(named).toEqual([]);
  });

  // An app of CommonJS gets the kit by `require`, which cannot wait. esbuild refuses a file that does, in that form.
  test('waits for nothing while it is loaded', () => {
    for (const [file, code] of sources) {
      if (file.endsWith('/cli/oncekit.ts')) continue;
      const sourcefile = path.relative(root, file);
      const loader = file.endsWith('x') ? 'tsx' : 'ts';
      transformSync(code, { loader, format: 'cjs', sourcefile, logLevel: 'silent' });
    }
    const waiting = () => transformSync('await 1;', { format: 'cjs', logLevel: 'silent' });
    expect(waiting).toThrow('Top-level await');
  });

  /** Files of the package besides what is built, as `files` of package.json has them. */
  const isPacked = (file: string) =>
    /^docs\/(([^/]+\/)?[^/]+\.md|observability\/.+)$/.test(file) ||
    ['README.md', 'LICENSE', ...manifest.files].includes(file);

  test('has what the README leads to, and from there on every page', () => {
    expect(manifest.files).toEqual(expect.arrayContaining(['docs/**/*.md', 'CHANGELOG.md', 'llms.txt']));
    const pages = markdownPages().filter(({ file }) => isPacked(file));
    expect(pages.map(({ file }) => file)).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md']));
    const strange = pages.flatMap(({ file, links }) =>
      links
        .filter((href) => !/^(https?:|#)/.test(href))
        .map((href) => path.join(path.dirname(file), href.replace(/#.*$/, '')).replace(/\/$/, '/README.md'))
        // Sources are in the repository; pictures are too large for a package.
        .filter((target) => !isPacked(target) && !(file !== 'README.md' && isSource(target)) && !isPicture(target))
        .map((target) => `${file}: ${target}`),
    );
    expect(strange).toEqual([]);
  });

  test('comes with the SQL and the models of each part', () => {
    const sql = readdirSync(path.join(root, 'prisma/kit'));
    expect(sql).toEqual(
      expect.arrayContaining([
        '0001_keys.sql',
        '0001_messaging.sql',
        '0002_keys.sql',
        '0002_messaging.sql',
        '0003_keys.sql',
        '0004_keys.sql',
        '0005_keys.sql',
        '0006_keys.sql',
      ]),
    );
    expect(manifest.files).toEqual(
      expect.arrayContaining(['dist', 'prisma/kit', 'prisma/idempotency.prisma', 'prisma/messaging.prisma']),
    );
  });
});
