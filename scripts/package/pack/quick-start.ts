/** The quick start by its text: its commands are run and its blocks of code are written in the order in which they are to be read. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Block, type MarkdownPage, readPage, root } from '../../docs/pages.ts';
import { schemaDifference } from '../../services/migrate.ts';
import { command, generate, migrate, run } from './commands.ts';
import { inFolder, writeFiles } from './fixture.ts';
import type { Context } from './report.ts';
import { documented } from './scripts-of-an-app.ts';
import { checkImages } from './standalone.ts';
import type { Tarball } from './tarball.ts';

const PAGE = 'docs/quick-start.md';
/** The page ends with it, for those who have an app. */
const APP = 'An app to try it in';

/** The app that create-next-app makes: Cache Components, ESLint with Next's rules, TypeScript's settings, npm. */
export async function checkQuickStart(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, 'The quick start, by its text', async (folder) => {
    const app = path.join(folder, 'shop');
    const packed = path.join(folder, path.basename(tarball.file));
    await cp(tarball.file, packed);
    const databaseUrl = await server.database();
    const reader: Reader = { folder, app, databaseUrl, packed, signal };
    const page = readPage(PAGE, await readFile(path.join(root, PAGE), 'utf8'));
    const headings = sectionsOf(page).filter((title) => title === APP || /^\d+\. /.test(title));
    for (const title of [APP, ...headings.filter((one) => one !== APP)]) {
      await report.check(title, async () => {
        for (const block of blocksUnder(page, title)) await take(block, reader);
      });
    }
    await report.alone("eslint, by create-next-app's rules, has nothing to say", () =>
      run(app, ['eslint', '--max-warnings', '0', 'app', 'lib'], signal),
    );
    const route = await documented('docs/http.md', 'app/api/orders/route.ts');
    await writeFiles(app, {
      'app/api/orders/route.ts': route.text,
      'lib/orders.ts': "export { checkout } from './checkout';\n",
    });
    await checkImages(context, { folder, app, databaseUrl, packed });
  });
}

interface Reader {
  folder: string;
  app: string;
  databaseUrl: string;
  packed: string;
  signal: AbortSignal;
}

/** The headings of the page, in their order. */
function sectionsOf({ text }: MarkdownPage): string[] {
  return [...text.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
}

function blocksUnder({ text, blocks }: MarkdownPage, title: string): Block[] {
  const lines = text.split('\n');
  const begin = lines.indexOf(`## ${title}`);
  const next = lines.findIndex((line, at) => at > begin && line.startsWith('## '));
  return blocks.filter(({ line }) => line > begin && (next === -1 || line <= next));
}

async function take({ lang, text }: Block, reader: Reader): Promise<void> {
  if (lang === 'sh') {
    for (const line of text.split('\n')) await follow(line.replace(/#.*$/, '').trim(), reader);
  } else if (lang === 'ini') {
    await writeFiles(reader.app, { '.env': `DATABASE_URL="${reader.databaseUrl}"\n` });
  } else {
    const [, file] = /^\/\/ ([\w[\]()./-]+\.\w+)/.exec(text) ?? [];
    if (!file) throw new Error(`This block does not say which file it is:\n${text}`);
    await writeFiles(reader.app, { [file]: text });
  }
}

/** A command as it stands there. What it cannot be here is said at each. */
async function follow(line: string, { folder, app, databaseUrl, packed, signal }: Reader): Promise<void> {
  const words = line.split(/\s+/).filter(Boolean);
  const inApp = (command_: string[]) => command(command_, { cwd: app, env: NPM, signal });
  const [tool, name] = words;
  if (tool === undefined || tool === 'cd') return;
  if (line.startsWith('npx create-next-app')) {
    await command(['npx', '--yes', ...words.slice(1), '--disable-git'], { cwd: folder, env: NPM, signal });
    return await useSystemFonts(app);
  }
  // The package is not on npm: the file that `npm pack` has made, as the page says.
  if (tool === 'npm' && name === 'install') {
    await inApp(words.map((word) => (word === 'oncekit' ? packed : word)));
    return;
  }
  // A script has nobody whom `init` could ask.
  if (line === 'npx oncekit init') return void (await inApp(['npx', '--no', 'oncekit', 'init', '--yes']));
  // Prisma's engine is a download: the same engine as WebAssembly.
  if (line === 'npx prisma generate') return await generate(app, signal);
  if (line === 'npx prisma migrate deploy') return await migrate(app, databaseUrl, signal);
  if (line.startsWith('npx prisma migrate dev')) return await makeMigration(app, databaseUrl, signal);
  // What the page says to do then is done by a browser, on the production build.
  if (line === 'npm run dev') return;
  await inApp(tool === 'npx' ? ['npx', '--no', ...words.slice(1)] : words);
}

const NPM = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };

/** Its own are fetched from Google, and nothing but npm's registry can be reached here. */
async function useSystemFonts(app: string): Promise<void> {
  const file = path.join(app, 'app/layout.tsx');
  const text = await readFile(file, 'utf8');
  const without = text
    .replace(/^import \{ Geist.*\n/m, '')
    .replace(/^const geist\w+ = Geist\w*\(\{[\s\S]*?\}\);\n\n?/gm, '')
    .replace(/\$\{geist\w+\.variable\} ?/g, '');
  if (/[gG]eist/.test(without)) throw new Error(`create-next-app makes another layout than it did:\n${text}`);
  await writeFile(file, without);
}

async function makeMigration(app: string, databaseUrl: string, signal: AbortSignal): Promise<void> {
  const sql = await schemaDifference(databaseUrl, path.join(app, 'prisma'));
  if (!sql) throw new Error('The schema adds nothing to an empty database.');
  await writeFiles(app, {
    'prisma/migrations/migration_lock.toml': 'provider = "postgresql"\n',
    'prisma/migrations/20260101090000_orders/migration.sql': sql,
  });
  await migrate(app, databaseUrl, signal);
}
