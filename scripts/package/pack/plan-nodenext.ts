import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { applyMigrations } from '../../services/migrate.ts';
import { command } from './command.ts';
import { CONSUMER_PACKAGES, consumerFiles } from './consumer.ts';
import type { Context } from './context.ts';
import { inFolder, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { TESTS } from './fixture-tests.ts';
import { generate } from './in-app.ts';
import { setUp } from './set-up.ts';
import type { Tarball } from './tarball.ts';
import { walk } from './walk.ts';

/** The same app under a `basePath`, where TypeScript resolves modules as Node does, and a service that has no Next at all. */
export async function checkNodenext(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
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
  });
  await applyMigrations(databaseUrl, path.join(app, 'prisma'));
}
