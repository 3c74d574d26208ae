import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { command } from './commands.ts';
import { addPackages, inFolder, writeFiles } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { TESTS } from './fixture-tests.ts';
import type { Context } from './report.ts';
import type { Tarball } from './tarball.ts';
import { walk } from './walk.ts';

const FOLDER = fileURLToPath(new URL('../../../.data/pnpm', import.meta.url));

/** An app whose packages pnpm keeps apart: none of them finds what it does not name. Its addresses end with a slash, and webpack bundles it. */
export async function checkPnpm(context: Context, tarball: Tarball): Promise<void> {
  const { report, server, signal } = context;
  await inFolder(report, 'An app of pnpm, with trailingSlash, by webpack', async (app) => {
    const databaseUrl = await server.database();
    const files = { ...appFiles({ name: 'pnpm-shop', databaseUrl }), ...TESTS };
    files['next.config.ts'] = 'export default { trailingSlash: true };\n';
    await writeFiles(app, files);
    await addPackages(app, APP_PACKAGES);
    const pnpm = await installedPnpm(signal);
    await report.check('pnpm installs the app', () => command([...pnpm, 'install'], { cwd: app, signal }));
    await report.check('pnpm installs the tarball', () =>
      command([...pnpm, 'add', tarball.file], { cwd: app, signal }),
    );
    await walk(context, { app, databaseUrl, bundler: 'webpack', trailingSlash: true });
  });
}

/** pnpm by npm, once for this clone. */
async function installedPnpm(signal: AbortSignal): Promise<string[]> {
  const program = path.join(FOLDER, 'node_modules/pnpm/bin/pnpm.cjs');
  if (!existsSync(program)) {
    await mkdir(FOLDER, { recursive: true });
    await writeFile(path.join(FOLDER, 'package.json'), '{ "private": true }\n');
    await command(['npm', 'install', '--no-audit', '--no-fund', 'pnpm@10'], { cwd: FOLDER, signal });
  }
  return [process.execPath, program];
}
