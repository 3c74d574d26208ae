import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { applyMigrations } from '../../services/migrate.ts';
import { command, generate } from './commands.ts';
import { CONSUMER_PACKAGES, consumerFiles } from './consumer.ts';
import { commandRuns, directivesStay } from './contents.ts';
import { checkAsCreated } from './create-next-app.ts';
import { isForBrowsers, leavesNothingUnused, loadsInNode } from './entries.ts';
import { addPackages, applyChange, inFolder, npmInstall, setUp, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { TESTS } from './fixture-tests.ts';
import type { Context } from './report.ts';
import { checkScripts } from './scripts-of-an-app.ts';
import type { Tarball } from './tarball.ts';
import { typeChecks } from './type-checks.ts';
import { walk } from './walk.ts';

/** The quick way of a stranger: one app, npm, `oncekit init`, the diff of the README. */
export async function checkOneApp(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal, isThorough } = context;
  await inFolder(report, 'An app with a form of its own', async (app) => {
    const databaseUrl = await server.database();
    const files = { ...appFiles({ name: 'plain-shop', databaseUrl }), ...TESTS };
    await setUp(context, app, tarball, { files, ...APP_PACKAGES });
    const kit = path.join(app, 'node_modules/oncekit');
    await report.alone("'use client' comes first where it did in the source", () => directivesStay(tarball, kit));
    await report.alone('the command is one that a shell can run', () => commandRuns(kit));
    await report.alone('the server entries load in plain Node', () => loadsInNode(app, signal));
    await report.alone('the browser entries have nothing of Node', () => isForBrowsers(app));
    await report.alone('what is not used costs a bundle nothing', () => leavesNothingUnused(app));
    if (isThorough) for (const { name, run } of await typeChecks(app, signal)) await report.alone(name, run);
    await walk(context, { app, databaseUrl, contrast: isThorough });
    await checkScripts(context, app, databaseUrl);
    if (isThorough) await checkAsCreated(context, app);
  });
}

/**
 * The app as one of npm's workspaces: what it needs lies further up, in the newest versions that the registry has within
 * our major ones. It is made of ES modules, and its Prisma schema is a folder.
 */
export async function checkWorkspaces(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, "An app in one of npm's workspaces", async (root) => {
    const app = path.join(root, 'apps/web');
    const databaseUrl = await server.database();
    const manifest = { name: 'company', private: true, workspaces: ['apps/*', 'packages/*'] };
    await writeFiles(root, {
      'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
      'packages/words/package.json': '{ "name": "words", "version": "1.0.0", "private": true }\n',
    });
    await writeFiles(app, { ...appFiles({ name: 'web', databaseUrl }), ...TESTS });
    await applyChange(app, {
      file: 'package.json',
      before: '"private": true',
      after: '"private": true,\n  "type": "module"',
    });
    await applyChange(app, { file: 'prisma.config.ts', before: "'prisma/schema.prisma'", after: "'prisma'" });
    await addPackages(app, APP_PACKAGES, '^');
    await report.check('npm installs the app from the registry', () => npmInstall(root, [], signal));
    await report.check('npm installs the tarball into the workspace', () =>
      npmInstall(root, ['-w', 'apps/web', tarball.file], signal),
    );
    await walk(context, { app, databaseUrl });
  });
}

/** The same app under a `basePath`, where TypeScript resolves modules as Node does. */
export async function checkNodenext(context: Context, tarball: Tarball): Promise<void> {
  const { report, server } = context;
  await inFolder(report, 'An app under moduleResolution "nodenext", and under a basePath', async (app) => {
    const databaseUrl = await server.database();
    const files = appFiles({ name: 'nodenext-shop', databaseUrl });
    const tsconfig = JSON.parse(files['tsconfig.json'] ?? '');
    Object.assign(tsconfig.compilerOptions, { module: 'nodenext', moduleResolution: 'nodenext' });
    files['tsconfig.json'] = JSON.stringify(tsconfig, null, 2);
    const basePath = '/shop';
    files['next.config.ts'] = `export default { basePath: '${basePath}' };\n`;
    await setUp(context, app, tarball, { files: { ...files, ...TESTS }, ...APP_PACKAGES });
    await walk(context, { app, databaseUrl, basePath });
  });
}

/** The same app on the Next before ours, with the TypeScript of its time. Its middleware is not called a proxy yet. */
export async function checkNext15(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, 'An app on Next 15', async (app) => {
    const databaseUrl = await server.database();
    const { 'proxy.ts': proxy = '', ...files } = appFiles({ name: 'next-15-shop', databaseUrl });
    const middleware = proxy.replace('function proxy(', 'function middleware(');
    await writeFiles(app, { ...files, ...TESTS, 'middleware.ts': middleware });
    const { dependencies, ...others } = APP_PACKAGES;
    await addPackages(app, { ...others, dependencies: dependencies.filter((name) => name !== 'next') });
    await report.check('npm installs the tarball beside Next 15', () =>
      npmInstall(app, ['next@^15.5', 'typescript@^5.9', tarball.file], signal),
    );
    await walk(context, { app, databaseUrl });
  });
}

/** A service that has no Next at all. */
export async function checkService(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, 'A service under "nodenext", without Next and without skipLibCheck', async (app) => {
    const databaseUrl = await server.database();
    const files = consumerFiles({ name: 'queue-worker', databaseUrl });
    await setUp(context, app, tarball, { files, ...CONSUMER_PACKAGES });
    await report.check('the tables are made from the SQL in the package', () => copyTables(app, databaseUrl));
    await generate(app, signal);
    const tsc = path.join(app, 'node_modules/typescript/bin/tsc');
    await report.check('tsc', () => command([process.execPath, tsc], { cwd: app, signal }));
    await report.check('five deliveries at once make one order', async () => {
      const told = await command([process.execPath, 'dist/sell-twice.js'], { cwd: app, signal });
      const { answers, orders } = JSON.parse(told.split('\n').at(-1) ?? '');
      if (answers.length !== 1 || orders !== 1) throw new Error(told);
    });
  });
}

/** By hand, as the docs say for an app that `init` does not know. */
async function copyTables(app: string, databaseUrl: string): Promise<void> {
  const kit = path.join(app, 'node_modules/oncekit/prisma');
  const schema = await readFile(path.join(app, 'prisma/schema.prisma'), 'utf8');
  const models = await readFile(path.join(kit, 'idempotency.prisma'), 'utf8');
  await writeFiles(app, {
    'prisma/schema.prisma': `${schema}\n${models}`,
    'prisma/migrations/20260102090000_oncekit/migration.sql': await readFile(
      path.join(kit, 'kit/0001_keys.sql'),
      'utf8',
    ),
    'prisma/migrations/20260102090001_oncekit_2/migration.sql': await readFile(
      path.join(kit, 'kit/0002_keys.sql'),
      'utf8',
    ),
    'prisma/migrations/20260102090002_oncekit_3/migration.sql': await readFile(
      path.join(kit, 'kit/0003_keys.sql'),
      'utf8',
    ),
    'prisma/migrations/20260102090003_oncekit_4/migration.sql': await readFile(
      path.join(kit, 'kit/0004_keys.sql'),
      'utf8',
    ),
    'prisma/migrations/20260102090004_oncekit_5/migration.sql': await readFile(
      path.join(kit, 'kit/0005_keys.sql'),
      'utf8',
    ),
    'prisma/migrations/20260102090005_oncekit_6/migration.sql': await readFile(
      path.join(kit, 'kit/0006_keys.sql'),
      'utf8',
    ),
  });
  await applyMigrations(databaseUrl, path.join(app, 'prisma'));
}
