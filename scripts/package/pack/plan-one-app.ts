import path from 'node:path';
import { commandRuns, directivesStay } from './contents.ts';
import type { Context } from './context.ts';
import { checkAsCreated } from './create-next-app.ts';
import { isForBrowsers, leavesNothingUnused, loadsInNode } from './entries.ts';
import { inFolder } from './fixture.ts';
import { APP_PACKAGES, appFiles } from './fixture-app.ts';
import { TESTS } from './fixture-tests.ts';
import { checkScripts } from './scripts-of-an-app.ts';
import { setUp } from './set-up.ts';
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
