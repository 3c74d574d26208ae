import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from './context.ts';
import { addPackages, inFolder, npmInstall, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { TESTS } from './fixture-tests.ts';
import type { Tarball } from './tarball.ts';
import { walk } from './walk.ts';

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
    await change(path.join(app, 'package.json'), '"private": true', '"private": true,\n  "type": "module"');
    await change(path.join(app, 'prisma.config.ts'), "'prisma/schema.prisma'", "'prisma'");
    await addPackages(app, APP_PACKAGES, '^');
    await report.check('npm installs the app from the registry', () => npmInstall(root, [], signal));
    await report.check('npm installs the tarball into the workspace', () =>
      npmInstall(root, ['-w', 'apps/web', tarball.file], signal),
    );
    await walk(context, { app, databaseUrl });
  });
}

async function change(file: string, before: string, after: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (!text.includes(before)) throw new Error(`${file} does not have ${before}`);
  await writeFile(file, text.replace(before, after));
}
