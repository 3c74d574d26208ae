import { readFileSync } from 'node:fs';
import path from 'node:path';
import { notFound } from 'next/navigation.js';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { ErrorPage } from '../../../components/form/error-page.tsx';
import { IdempotentForm } from '../../../components/form/idempotent-form.tsx';
import { Field } from '../../../components/ui/field.tsx';
import { errorsIn, virtualProgram } from '../../docs/virtual-program.ts';
import { publicEntries } from '../public-exports.ts';
import { registryItems } from './items.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const items = registryItems();
const kitPaths = Object.fromEntries([...publicEntries()].map(([name, file]) => [name, [path.join(root, file)]]));

/** The files of `oncekit init`, which come before any item (lib/cli), and the app's own client. */
const GIVEN = {
  'lib/prisma.ts': `
    interface Raw { $queryRawUnsafe<T>(query: string, ...values: unknown[]): PromiseLike<T> }
    export declare const prisma: Raw & { $transaction<R>(run: (tx: Raw) => Promise<R>): Promise<R> };`,
  'lib/idempotency.ts': `
    import { createIdempotency } from 'oncekit';
    import { prisma } from './prisma';
    export const idempotency = createIdempotency({ prisma, scope: async () => null });`,
  'lib/operations.ts': 'export const operations = [] as const;',
  // As Next declares it.
  'css.d.ts': `declare module '*.css';`,
};

describe('the component registry', () => {
  test('is what the demo is made of: npm run build:registry', () => {
    const built = JSON.parse(readFileSync(path.join(root, 'public/r/registry.json'), 'utf8')) as { items: object[] };
    expect(built.items).toHaveLength(items.length);
    for (const item of items) {
      const file = path.join(root, `public/r/${item.name}.json`);
      expect(JSON.parse(readFileSync(file, 'utf8')), file).toMatchObject(item);
    }
  });

  test.each(items)("$name has no text that the rules of an app's ESLint want escaped", ({ files }) => {
    for (const { path: at, content } of files.filter((file) => file.path.endsWith('.tsx'))) {
      const texts: string[] = [];
      const visit = (node: ts.Node): void => {
        if (ts.isJsxText(node)) texts.push(node.text);
        ts.forEachChild(node, visit);
      };
      visit(ts.createSourceFile(at, content, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
      // react/no-unescaped-entities, which create-next-app sets up.
      for (const text of texts) expect(text, at).not.toMatch(/[>"'}]/);
    }
  });

  test.each(items)('$name brings all that it imports, and nothing of the demo', ({ name, files }) => {
    const places = new Set([...files.map((file) => file.path), ...Object.keys(GIVEN)]);
    expect(places.size).toBe(files.length + Object.keys(GIVEN).length);
    for (const { path: at, content } of files) {
      for (const { fileName } of ts.preProcessFile(content).importedFiles) {
        const to = fileName.startsWith('.') ? path.join(path.dirname(at), fileName) : fileName.replace(/^@\//, '');
        const isOwn = ['.ts', '.tsx'].some((end) => places.has(to + end));
        const isPackage = /^(oncekit|next|react|react-dom|zod)(\/[a-z-]+)?$/.test(fileName);
        const isTheirStylesheet = to === 'app/globals.css'; // which create-next-app writes
        expect(isOwn || isPackage || isTheirStylesheet, `${name}: ${at} imports ${fileName}`).toBe(true);
      }
      // The shadcn command line takes such a folder in an import for the app's own.
      expect(content, at).not.toMatch(/from '@\/components\/.*\/(ui|lib|hooks)/);
      // Colours that only the demo's stylesheet has.
      expect(content, at).not.toMatch(
        /[\s"'`:](bg|text|border|ring|fill|divide)-(paper|surface|sunken|ink|line|strong-line|on-accent|(good|bad|warn|info)(-surface)?)[\s"'`]/,
      );
    }
  });

  test('compiles in an app that has nothing but what oncekit init writes', { tags: 'all', timeout: 180_000 }, () => {
    const theirs = items.flatMap(({ files }) => files.map(({ path: at, content }) => [at, content] as const));
    expect(typeErrors(new Map([...Object.entries(GIVEN), ...theirs]))).toEqual([]);
  });

  test('lets nobody in until the app says who is an admin', () => {
    for (const { files } of items.filter(({ name }) => name.startsWith('admin-'))) {
      const asked = files.filter(({ path: at }) => /\/(page|actions)\.tsx?$/.test(at));
      for (const { path: at, content } of asked) {
        const bodies = content.split(/^export (?:default )?async function /m).slice(1);
        for (const body of bodies) expect(body.slice(0, 300), at).toMatch(/await requireAdmin(ToAct)?\(/);
      }
    }
  });

  const ann = { name: 'ann', tenant: 'acme' };
  test.each([null, undefined, {}, { name: '', tenant: null }, 'ann', { name: 'ann', tenant: 'admin' }, ann])(
    'X2 and its gate opens to no account without a name, nor to one of the tenant of what admins do: %j',
    async (account) => {
      const seam =
        items.flatMap(({ files }) => files).find(({ path: at }) => at === 'lib/oncekit-admin.ts')?.content ?? '';
      expect(seam).toMatch(/currentAdmin\(\): Promise<AdminAccount \| null> \{\s*return null;/);
      const { outputText } = ts.transpileModule(seam.replace('return null;', 'return account;'), {
        compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2023 },
      });
      const gates: Record<string, (path?: string) => Promise<unknown>> = {};
      const imported = (from: string) => (from === 'next/navigation' ? { notFound } : { operations: [] });
      new Function('exports', 'require', 'account', outputText)(gates, imported, account);
      for (const gate of ['requireAdmin', 'requireAdminToAct']) {
        const asked = gates[gate]?.('/admin');
        if (account === ann) await expect(asked).resolves.toBe(ann);
        else await expect(asked).rejects.toMatchObject({ digest: 'NEXT_HTTP_ERROR_FALLBACK;404' });
      }
    },
  );

  test('its error pages are there before JavaScript has found anything out, with words and a way on', () => {
    const html = renderToStaticMarkup(createElement(ErrorPage));
    expect(html).toMatch(/<h1[^>]*>This page could not be loaded/);
    expect(html).toMatch(/<button[^>]*>Try again/);
  });

  test('its form has its key, its fields and its words in the first HTML', () => {
    const html = renderToStaticMarkup(
      createElement(IdempotentForm, {
        action: async () => null as never,
        intent: 'order:1',
        initialKey: 'the-key',
        label: 'Send',
        children: (field) => createElement(Field, { label: 'Name', ...field('name') }),
      }),
    );
    expect(html).toMatch(
      /<input[^>]*type="hidden"[^>]*name="idempotency_key"|name="idempotency_key"[^>]*type="hidden"/,
    );
    expect(html).toContain('value="the-key"');
    expect(html).toMatch(/<input[^>]*name="name"/);
    expect(html).toMatch(/role="status"[^>]*data-state="idle"/);
    expect(html).toMatch(/<button[^>]*type="submit"/);
  });
});

/** TypeScript's errors in an app of these files, which exist nowhere. As strict as for our own. */
function typeErrors(files: ReadonlyMap<string, string>): string[] {
  const app = path.join(root, 'registry-check');
  const named = new Map([...files].map(([at, content]) => [path.join(app, at), content]));
  // Their files are theirs alone: no file of the demo stands in for one that an item forgot.
  const program = virtualProgram(named, { options: { types: ['node'], paths: { ...kitPaths, '@/*': [`${app}/*`] } } });
  return [...named.keys()].flatMap((name) =>
    errorsIn(program, name).map(({ text }) => `${path.relative(app, name)}: ${text}`),
  );
}
