/**
 * `npm run test:pack`: the package as a stranger gets it. Packs the kit, installs the tarball into apps outside this
 * repository, sets it up with `oncekit init`, changes their form as the README says, and tests what comes out with the
 * checks that the package brings along. `--one`: the first app alone, which is what `npm test` runs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkNodenext, checkOneApp, checkWorkspaces } from './package/pack/apps.ts';
import { checkTarball } from './package/pack/contents.ts';
import { startServer } from './package/pack/database.ts';
import { Report } from './package/pack/report.ts';

const RESULT = fileURLToPath(new URL('../.data/test-results/pack.json', import.meta.url));

const isOne = process.argv.includes('--one');
const say = (line: string) => console.log(line);
const report = new Report(say);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

try {
  const server = await startServer();
  const { signal } = stopping;
  try {
    const context = { report, server, signal, isThorough: !isOne };
    const tarball = await checkTarball(context);
    if (tarball) await checkOneApp(context, tarball);
    if (tarball && !isOne) {
      await checkWorkspaces(context, tarball);
      await checkNodenext(context, tarball);
    }
  } finally {
    await server.stop();
  }
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.error(why);
  report.failures.push({ test: 'The package, installed', why });
}
const { passed, failed, failures } = report;
await mkdir(path.dirname(RESULT), { recursive: true });
await writeFile(RESULT, JSON.stringify({ passed, failed, skipped: 0, failures }));
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
