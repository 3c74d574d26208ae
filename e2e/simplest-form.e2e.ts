import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { testDatabase } from '../scripts/testing/test-database.ts';
import type { Client } from '../shop/db.ts';
import { nameOf, variantOf } from '../shop/variants.ts';
import { type Bundler, type PlantedApp, plant, type RunningApp } from './fixtures/planted-app.ts';

/**
 * `<IdempotentForm>` of oncekit/next under both bundlers, in a build and in development; what development says aloud; and what a handler
 * leaves to Next's `after`.
 */

const FIELDS = `
  <label>Name <input name="name" defaultValue="Ada" /></label>
  <label>Note <input name="note" defaultValue="none" /></label>
  <button>Sign</button>`;

const FILES = {
  // In place of the demo's own, which Next would find further up.
  'instrumentation.ts': 'export function register() {}',
  'proxy.ts': "export function proxy() {}\nexport const config = { matcher: '/nowhere' };",
  'app/actions.ts': `
    'use server';
    import { serverAction } from 'oncekit/next';
    import { sign } from '../operation.ts';
    export const signIt = serverAction(sign, { redirectTo: ({ signed }) => '/signed/' + signed });
    export async function stranger() {}`,
  'app/api/idempotency/[operation]/[key]/route.ts': `
    import { statusRoute } from 'oncekit/next';
    import { sign } from '../../../../../operation.ts';
    export const { GET, DELETE } = statusRoute([sign]);`,
  'app/form/page.tsx': `
    import { IdempotentForm } from 'oncekit/next';
    import { signIt } from '../actions.ts';
    export default function Page() {
      return <main><h1>The book</h1><IdempotentForm action={signIt} intent="book">${FIELDS}</IdempotentForm></main>;
    }`,
  'app/bound/page.tsx': `
    import { IdempotentForm } from 'oncekit/next';
    import { signIt } from '../actions.ts';
    export default function Page() {
      const action = signIt.bind(null, 'guests').bind(null, 'page 1');
      return <IdempotentForm action={action} intent={7}>${FIELDS}</IdempotentForm>;
    }`,
  'app/stranger/page.tsx': `
    import { IdempotentForm } from 'oncekit/next';
    import { connection } from 'next/server';
    import { Suspense } from 'react';
    import { stranger } from '../actions.ts';
    async function Form() {
      await connection();
      return <IdempotentForm action={stranger} intent="book">${FIELDS}</IdempotentForm>;
    }
    export default function Page() { return <Suspense><Form /></Suspense>; }`,
  'app/own-form.tsx': `
    'use client';
    import { IdempotencyKeyField, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
    export function OwnForm({ action, hasField, ...options }) {
      const submit = useIdempotentSubmit(action, options);
      return (
        <form {...submit.formProps}>
          {hasField && <IdempotencyKeyField {...submit.fieldProps} />}
          ${FIELDS}
          <SubmitStatus submit={submit} />
        </form>
      );
    }`,
  'app/wrong/[what]/page.tsx': `
    import { issueKey } from 'oncekit/next';
    import { Suspense } from 'react';
    import { sign } from '../../../operation.ts';
    import { signIt } from '../../actions.ts';
    import { OwnForm } from '../../own-form.tsx';
    const WRONG = {
      field: { intent: 'sign:book', hasField: false },
      operation: { intent: 'refund:book', hasField: true },
      route: { intent: 'sign:book', hasField: true, statusUrl: '/shop/api/elsewhere' },
    };
    async function Form({ params }) {
      const { what } = await params;
      return <OwnForm action={signIt} initialKey={await issueKey(sign)} {...WRONG[what]} />;
    }
    export default function Page({ params }) { return <Suspense><Form params={params} /></Suspense>; }`,
  'app/left/route.ts': `
    import { after } from 'next/server';
    import { createIdempotency } from 'oncekit';
    import { z } from 'zod';
    import { createClient } from '@/shop/db.ts';
    const prisma = createClient(process.env.DATABASE_URL ?? 'postgresql://no-database-during-the-build');
    const leave = createIdempotency({
      prisma,
      secret: [process.env.IDEMPOTENCY_SECRET],
      scope: async () => ({ tenant: 'planted', principal: 'anybody' }),
    })
      .operation({ name: 'leave', schema: z.object({ action: z.string(), fails: z.boolean() }) })
      .handler(async ({ input }) => {
        after(() => prisma.auditRecord.create({ data: { action: input.action, tenant: 't', principal: 'p' } }));
        if (input.fails) throw new Error('rolled back');
        return 'there';
      });
    export async function POST(request) {
      const payload = await request.json();
      return Response.json(await leave.execute({ key: payload.action, payload }));
    }`,
  'app/signed/[name]/page.tsx': `
    import { Suspense } from 'react';
    async function Name({ params }) { return <p>Signed by {(await params).name}</p>; }
    export default function Page({ params }) { return <Suspense><Name params={params} /></Suspense>; }`,
};

/** Every app is under a `basePath`, which nothing in it says twice. With Cache Components pages without JavaScript have no form. */
const configOf = (cacheComponents: boolean) => ({ basePath: '/shop', ...(cacheComponents && { cacheComponents }) });
const at = (server: RunningApp, page: string) => `${server.url}/shop/${page}`;
const signButton = (page: Page) => page.getByRole('button', { name: 'Sign' });
const nameField = (page: Page) => page.getByRole('textbox', { name: 'Name' });
const signed = (page: Page) => page.waitForURL('**/shop/signed/Ada', { waitUntil: 'commit', timeout: 60_000 });
const succeeded = (db: Client) => db.idempotencyKey.count({ where: { state: 'succeeded', operation: 'sign' } });

/** `npm run test:bundlers` sets it; without it one bundler is tried, without Cache Components. */
const ALL = process.env.ALL_BUNDLERS !== undefined;
const BUILDS: [Bundler, cacheComponents: boolean][] = [
  ['turbopack', false],
  ...(ALL
    ? ([
        ['turbopack', true],
        ['webpack', false],
      ] as [Bundler, boolean][])
    : []),
];
const DEVELOPMENT: Bundler[] = ALL ? ['turbopack', 'webpack'] : ['turbopack'];

// Once is enough: what is built here is not the demo.
if (nameOf(variantOf(process.env)) === 'default') {
  for (const [bundler, cacheComponents] of BUILDS) {
    test.describe(`the simplest form, ${bundler}${cacheComponents ? ', Cache Components' : ''}`, {
      tag: '@all',
    }, () => {
      test.describe.configure({ mode: 'serial', timeout: 600_000 });
      withApp({ bundler, cacheComponents, mode: 'start' }, ({ server, app, db }) => {
        formTests({ server, db });
        if (!cacheComponents) withoutJavaScript({ server, db });

        test('what development says is in no file that a browser loads', async () => {
          const all = await scriptsOf(path.join(app().folder, '.next/static'));
          expect(all).toContain('idempotency_key');
          expect(all).not.toMatch(/status route answers 404|no field for its key|idempotency_complaint/);
        });
      });
    });
  }

  for (const bundler of DEVELOPMENT) {
    test.describe(`in development, ${bundler}`, { tag: '@all' }, () => {
      test.describe.configure({ mode: 'serial', timeout: 600_000 });
      withApp({ bundler, cacheComponents: false, mode: 'develop' }, ({ server, db }) => {
        formTests({ server, db });
        complaints({ server, db });
      });
    });
  }
}

interface Parts {
  app: () => PlantedApp;
  server: () => RunningApp;
  db: () => Client;
}

function withApp(
  { bundler, cacheComponents, mode }: { bundler: Bundler; cacheComponents: boolean; mode: 'start' | 'develop' },
  body: (parts: Parts) => void,
): void {
  let app: PlantedApp;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let server: RunningApp;
  test.beforeAll(async () => {
    test.setTimeout(900_000);
    const name = `simplest-form-${bundler}-${mode}${cacheComponents ? '-cached' : ''}`;
    app = await plant(name, FILES, configOf(cacheComponents), bundler);
    if (mode === 'start') {
      const { ok, output } = await app.build();
      expect(ok, output).toBe(true);
    }
    database = await testDatabase();
    server = await app[mode]({ DATABASE_URL: database.url });
    // In development a page is compiled when it is first asked for, which takes longer than a test waits.
    for (const page of mode === 'develop' ? ['signed/Ada', 'form', 'bound', 'api/idempotency/sign/k', 'left'] : []) {
      await fetch(at(server, page));
    }
  });
  test.afterAll(async () => {
    await server?.stop();
    await database?.drop();
    await app?.remove();
  });
  body({ app: () => app, server: () => server, db: () => database.client });
}

function formTests({ server, db }: Pick<Parts, 'server' | 'db'>): void {
  for (const which of ['form', 'bound']) {
    test(`${which}: it knows its operation, asks under the basePath, and a double click signs once`, async ({
      page,
    }) => {
      const before = await succeeded(db());
      await page.goto(at(server(), which), { timeout: 400_000 });
      await expect(page.locator('input[name=idempotency_key]')).toHaveValue(/./, { timeout: 60_000 });
      await page.waitForLoadState('networkidle');
      await signButton(page).dblclick();
      await signed(page);
      expect((await succeeded(db())) - before).toBe(1);
    });
  }

  test('a lost answer: it is sent again under the same key, and signs once', async ({ page }) => {
    const before = await succeeded(db());
    await page.goto(at(server(), 'form'));
    await page.waitForLoadState('networkidle');
    let lost = 0;
    await page.route('**/shop/form', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return route.fallback();
      lost++;
      await route.fetch();
      await route.abort('connectionreset');
    });
    await signButton(page).click();
    await signed(page);
    expect([lost, (await succeeded(db())) - before]).toEqual([1, 1]);
  });

  test('a refused field says so beside it, and keeps what was entered', async ({ page }) => {
    await page.goto(at(server(), 'form'));
    await page.waitForLoadState('networkidle');
    await refuseName(page);
    await expect(nameField(page)).toBeFocused();
    await nameField(page).fill('Ada');
    await signButton(page).click();
    await signed(page);
  });

  test('what a handler leaves to after() is done behind COMMIT, and refused behind a rollback', async ({ request }) => {
    const written = (action: string) => db().auditRecord.count({ where: { action } });
    for (const fails of [true, false]) {
      const answer = await request.post(at(server(), 'left'), { data: { action: `left-${fails}`, fails } });
      expect(await answer.json()).toMatchObject(fails ? { code: 'internal', executed: false } : { data: 'there' });
    }
    await expect.poll(() => written('left-false')).toBe(1);
    await expect.poll(() => server().lines.join('\n')).toContain('ExecutionClosedError');
    expect(await written('left-true')).toBe(0);
  });

  test('an action that serverAction has not made is an error that names it', async ({ page }) => {
    const { lines } = server();
    await page.goto(at(server(), 'stranger')).catch(() => {});
    await expect.poll(() => lines.join('\n')).toContain('is none of serverAction');
  });
}

function withoutJavaScript({ server, db }: Pick<Parts, 'server' | 'db'>): void {
  test.describe('without JavaScript', () => {
    test.use({ javaScriptEnabled: false });

    test('it signs, a refused field says so beside it, and what was entered stays', async ({ page }) => {
      const before = await succeeded(db());
      await page.goto(at(server(), 'form'));
      await refuseName(page);
      await nameField(page).fill('Ada');
      await signButton(page).click();
      await signed(page);
      expect((await succeeded(db())) - before).toBe(1);
    });
  });
}

/** Sends the form without a name, and looks at what it says of that. */
async function refuseName(page: Page): Promise<void> {
  await nameField(page).fill('');
  const note = page.getByRole('textbox', { name: 'Note' });
  await note.fill('with love');
  await signButton(page).click();
  await expect(nameField(page)).toHaveAttribute('aria-invalid', 'true');
  const id = await nameField(page).getAttribute('aria-describedby');
  const error = page.locator(`[id="${id}"]`);
  await expect(error).toHaveText(/too small/i);
  await expect(error).toBeVisible();
  expect(await error.evaluate((node) => node.previousElementSibling?.textContent)).toContain('Name');
  await expect(note).toHaveValue('with love');
  await expect(note).not.toHaveAttribute('aria-invalid');
}

function complaints({ server }: Pick<Parts, 'server' | 'db'>): void {
  let before = 0;
  test.beforeEach(() => {
    before = server().lines.length;
  });
  /** How often the server has said so itself. Next shows beside it what browsers say. */
  const heard = (words: RegExp) =>
    server()
      .lines.slice(before)
      .filter((line) => line.startsWith('[oncekit]') && words.test(line)).length;
  const note = (page: Page) => page.locator('[data-oncekit=complaint]');

  test('a form that is well has nothing to complain of', async ({ page }) => {
    const asked = page.waitForResponse('**/shop/api/idempotency/sign/*', { timeout: 60_000 });
    await page.goto(at(server(), 'form'));
    expect((await asked).status()).toBe(200);
    await signButton(page).click();
    await signed(page);
    await expect(note(page)).toHaveCount(0);
    expect(heard(/\[oncekit\]/)).toBe(0);
  });

  test('a form without a field for its key', async ({ page }) => {
    await page.goto(at(server(), 'wrong/field'));
    await page.waitForLoadState('networkidle');
    await nameField(page).fill('');
    await signButton(page).click();
    await expect(note(page)).toContainText('The form of sign has no field for its key');
    for (const _ of [1, 2]) {
      await expect(page.getByRole('status')).toHaveAttribute('data-state', 'hasErrored');
      await signButton(page).click();
    }
    await expect.poll(() => heard(/no field for its key/)).toBe(1);
    await expect(note(page)).toHaveCount(1);
  });

  test('an intent that names another operation', async ({ page }) => {
    await page.goto(at(server(), 'wrong/operation'));
    await page.waitForLoadState('networkidle');
    await signButton(page).click();
    await expect(page.getByRole('status')).toContainText('names the operation refund, and its action runs sign');
    expect(heard(/names the operation refund, and its action runs sign/)).toBe(1);
  });

  test('a status route that is not there', async ({ page }) => {
    await page.goto(at(server(), 'wrong/route'));
    await expect(note(page)).toContainText('answers 404 at /shop/api/elsewhere/sign', { timeout: 60_000 });
    await expect(note(page)).toHaveCount(1);
    await signButton(page).click();
    await signed(page);
    expect(heard(/answers 404 at \/shop\/api\/elsewhere\/sign/)).toBe(1);
  });
}

async function scriptsOf(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.js'));
  return (await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')))).join('\n');
}
