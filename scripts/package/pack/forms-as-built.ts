/** Forms of other libraries in a stranger's app, by the text of their pages, and then the kit taken out again. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { readmeDiff } from '../../docs/diff.ts';
import { readPage, root } from '../../docs/pages.ts';
import { command, migrate, npx, run } from './commands.ts';
import { query } from './database.ts';
import { applyChange, inFolder, setUp, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { FORM_TESTS, TESTS } from './fixture-tests.ts';
import type { Context } from './report.ts';
import { documented } from './scripts-of-an-app.ts';
import { served } from './serve.ts';
import type { Tarball } from './tarball.ts';
import { takeUpTheKit, testForm, writeFormAsItWas } from './walk.ts';

const LIBRARIES = ['react-hook-form', 'next-safe-action'];
/** The page of docs/plain-form.md's own form, whose key it makes by the sentence there. */
const PAGE = `import { issueKey } from 'oncekit/next';
import { checkout } from '@/lib/orders';
import { CheckoutForm } from './checkout-form';

export default async function Page() {
  return <CheckoutForm cart={{ id: 'cart-42' }} initialKey={await issueKey(checkout)} />;
}
`;

/** Files and folders of the app that use the kit, beside those that the README has changed. */
const USERS = [
  'lib/idempotency.ts',
  'lib/operations.ts',
  'lib/lines.ts',
  'app/lines',
  'app/checkout/checkout-form.tsx',
  'tests',
];

const IMPORT = "import { checkout } from './orders';";

export async function checkForms(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, 'Forms of other libraries, and the removal', async (app) => {
    const databaseUrl = await server.database();
    const files = { ...appFiles({ name: 'forms-shop', databaseUrl }), ...TESTS, ...FORM_TESTS };
    const { dependencies, ...others } = APP_PACKAGES;
    await setUp(context, app, tarball, { files, ...others, dependencies: [...dependencies, ...LIBRARIES] });
    const walk = { app, databaseUrl };
    await takeUpTheKit(context, walk);
    await report.check('the blocks of docs/forms.md: rows with react-hook-form', async () => {
      await writeBlocks(app, 'docs/forms.md', [
        'lib/lines.ts',
        ...['actions.ts', 'lines-form.tsx', 'page.tsx'].map((file) => `app/lines/${file}`),
      ]);
      await applyChange(app, {
        file: 'lib/operations.ts',
        before: `${IMPORT}\nexport const operations = [checkout] as const;`,
        after: `import { orderLines } from './lines';\n${IMPORT}\nexport const operations = [checkout, orderLines] as const;`,
      });
    });
    await report.check('the blocks of docs/next-safe-action.md and docs/plain-form.md', async () => {
      await writeBlocks(app, 'docs/next-safe-action.md', ['app/checkout/actions.ts']);
      await writeBlocks(app, 'docs/plain-form.md', ['app/checkout/checkout-form.tsx']);
      await writeFiles(app, {
        'app/checkout/page.tsx': PAGE,
        'lib/may-order.ts': 'export const mayOrder = async () => true;\n',
      });
      await applyChange(app, {
        file: 'app/checkout/actions.ts',
        before: "import { checkout } from '@/lib/orders';",
        after: "import { mayOrder } from '@/lib/may-order';\nimport { checkout } from '@/lib/orders';",
      });
    });
    await report.check('next build', () => run(app, ['next', 'build'], signal));
    await testForm(context, walk, 'tests/lines.spec.ts');
    await testForm(context, walk, 'tests/with-oncekit.spec.ts');
    await checkRemoval(context, walk);
  });
}

async function writeBlocks(app: string, page: string, files: string[]): Promise<void> {
  for (const file of files) await writeFiles(app, { [file]: (await documented(page, file)).text });
}

/** As docs/cli.md says: the kit out of the code, the app deployed without it, and only then the migration. */
async function checkRemoval(
  { report, signal }: Context,
  { app, databaseUrl }: { app: string; databaseUrl: string },
): Promise<void> {
  const told = await report.check('npx oncekit remove --yes', () => npx(app, ['oncekit', 'remove', '--yes'], signal));
  await report.alone('it names the files that import the kit, and has dropped no table', async () => {
    const unnamed = ['lib/idempotency.ts', 'app/checkout/actions.ts'].filter((file) => !told.includes(file));
    if (unnamed.length > 0) throw new Error(`Not named: ${unnamed.join(', ')}.\n${told}`);
    if ((await tablesOf(databaseUrl)).length === 0) throw new Error('The tables are gone already.');
  });
  await report.check('the files that it has named are taken out, as is the package', async () => {
    for (const file of USERS) await rm(path.join(app, file), { recursive: true, force: true });
    const readme = readPage('README.md', await readFile(path.join(root, 'README.md'), 'utf8'));
    await writeFormAsItWas(app, readmeDiff(readme));
    await command(['npm', 'uninstall', '--no-audit', '--no-fund', 'oncekit'], { cwd: app, signal });
    if (existsSync(path.join(app, 'node_modules/oncekit'))) throw new Error('It is still there.');
  });
  await report.check('next build, without the kit', () => run(app, ['next', 'build'], signal));
  await report.check('the app shows its form', () =>
    served(app, signal, async (url) => {
      const page = await fetch(`${url}/checkout`);
      const text = await page.text();
      if (!page.ok || !text.includes('Place order')) throw new Error(`${page.status}: ${text.slice(0, 500)}`);
    }),
  );
  await report.check('its migration drops the tables, and the orders stay', async () => {
    await migrate(app, databaseUrl, signal);
    const left = await tablesOf(databaseUrl);
    if (left.length > 0) throw new Error(`There is still ${left.join(', ')}.`);
    const orders = await query(databaseUrl, 'SELECT "id" FROM "Order"');
    if (orders.length === 0) throw new Error('No order is left.');
  });
}

async function tablesOf(databaseUrl: string): Promise<string[]> {
  const rows = await query(
    databaseUrl,
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname LIKE 'idempotency%'",
  );
  return rows.map(({ relname }) => String(relname));
}
