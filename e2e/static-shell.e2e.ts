import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { testDatabase } from '../scripts/testing/test-database.ts';
import type { Client } from '../shop/db.ts';
import { nameOf, variantOf } from '../shop/variants.ts';
import { type PlantedApp, plant } from './fixtures/planted-app.ts';
import { holdHydration } from './fixtures/test.ts';

/** Two ways to put a form into a page that is prerendered but for its key; docs/forms.md shows both. */
const FILES = {
  'app/actions.ts': `
    'use server';
    import { serverAction } from 'oncekit/next';
    import { sign } from '../operation.ts';
    export const signIt = serverAction(sign, { redirectTo: ({ signed }) => '/signed/' + signed });`,
  'app/sign-form.tsx': `
    'use client';
    import { IdempotentForm } from 'oncekit/react';
    export function SignForm({ action, initialKey }) {
      return (
        <IdempotentForm action={action} intent="sign:book" initialKey={initialKey}>
          <input name="name" defaultValue="Ada" /> <button>Sign</button>
        </IdempotentForm>
      );
    }`,
  'app/whole/page.tsx': `
    import { issueKey } from 'oncekit/next';
    import { Suspense } from 'react';
    import { sign } from '../../operation.ts';
    import { signIt } from '../actions.ts';
    import { SignForm } from '../sign-form.tsx';
    async function Issued() { return <SignForm action={signIt} initialKey={await issueKey(sign)} />; }
    export default function Page() {
      return <main><h1>The book</h1><Suspense fallback="One moment"><Issued /></Suspense></main>;
    }`,
  'app/field/page.tsx': `
    import { issueKey } from 'oncekit/next';
    import { IdempotencyKeyField } from 'oncekit/react';
    import { Suspense } from 'react';
    import { sign } from '../../operation.ts';
    import { signIt } from '../actions.ts';
    async function Key() {
      return <IdempotencyKeyField name="idempotency_key" value={await issueKey(sign)} form="sign" />;
    }
    export default function Page() {
      return (
        <main>
          <h1>The book</h1>
          <form id="sign" action={signIt}>
            <input name="name" defaultValue="Ada" /> <button>Sign</button>
            <Suspense><Key /></Suspense>
          </form>
        </main>
      );
    }`,
  'app/signed/[name]/page.tsx': `
    import { Suspense } from 'react';
    async function Name({ params }) { return <p>Signed by {(await params).name}</p>; }
    export default function Page({ params }) { return <Suspense><Name params={params} /></Suspense>; }`,
};

// The demo itself has no static shell (app/instant.ts). Once is enough: what is built here is not the demo.
if (nameOf(variantOf(process.env)) === 'cache-components') {
  test.describe('a page that is prerendered but for its key', () => {
    test.describe.configure({ mode: 'serial' });
    let app: PlantedApp;
    let database: Awaited<ReturnType<typeof testDatabase>>;
    let server: Awaited<ReturnType<PlantedApp['start']>>;

    test.beforeAll(async () => {
      app = await plant('static-shell', FILES, { cacheComponents: true, partialPrefetching: true });
      const { ok, output } = await app.build();
      expect(ok, output).toBe(true);
      database = await testDatabase();
      server = await app.start({ DATABASE_URL: database.url });
    });
    test.afterAll(async () => {
      await server?.stop();
      await database?.drop();
      await app?.remove();
    });

    for (const way of ['whole', 'field']) {
      test(`${way}: no key is in the static shell, and each request has its own`, async ({ request }) => {
        const shell = await readFile(path.join(app.folder, `.next/server/app/${way}.html`), 'utf8');
        expect(shell).toContain('The book');
        expect(shell).not.toContain('idempotency_key');
        const keys = await Promise.all(
          [1, 2].map(async () => {
            const html = await (await request.get(`${server.url}/${way}`)).text();
            return /name="idempotency_key"[^>]*value="([^"]+)"/.exec(html)?.[1];
          }),
        );
        expect(keys[0]).toBeTruthy();
        expect(keys[0]).not.toBe(keys[1]);
      });

      for (const [when, hold] of [
        ['hydrated', async () => async () => {}],
        ['before hydration', holdHydration],
      ] as const) {
        test(`${way}, ${when}: the field that has streamed in belongs to the form, which works`, async ({ page }) => {
          const release = await hold(page);
          await page.goto(`${server.url}/${way}`, { waitUntil: 'commit' });
          const field = page.locator('input[name=idempotency_key]');
          await expect(field).toBeAttached();
          expect(await field.evaluate((input: HTMLInputElement) => input.form === document.querySelector('form'))).toBe(
            true,
          );
          if (when === 'hydrated') await page.waitForLoadState('networkidle');
          expect(await signings(page, database.client)).toBe(1);
          await release();
        });
      }
    }

    test.describe('without JavaScript', () => {
      test.use({ javaScriptEnabled: false });

      test('whole: the form stays hidden', async ({ page }) => {
        await page.goto(`${server.url}/whole`);
        await expect(page.getByText('One moment')).toBeVisible();
        await expect(page.getByRole('button', { name: 'Sign' })).toBeHidden();
      });

      test('field: the form is there and works', async ({ page }) => {
        await page.goto(`${server.url}/field`);
        expect(await signings(page, database.client)).toBe(1);
      });
    });
  });
}

/** Signs, and counts what came of it. */
async function signings(page: Page, db: Client): Promise<number> {
  const before = await db.idempotencyKey.count();
  await page.getByRole('button', { name: 'Sign' }).click();
  await page.waitForURL('**/signed/Ada', { waitUntil: 'commit' });
  return (await db.idempotencyKey.count({ where: { state: 'succeeded' } })) - before;
}
