/**
 * `npm run test:pack`: the package as a stranger gets it. Packs the kit, installs the tarball into apps outside this
 * repository, sets it up with `oncekit init`, changes their form as the README says, and tests what comes out with the
 * checks that the package brings along. `--contents`: what is packed alone, for `npm test`. `--one`: the first app as well, for
 * `npm run test:all`. Names of walks behind it (`quick-start`, `pnpm`, …): those alone.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkNext15, checkNodenext, checkOneApp, checkService, checkWorkspaces } from './package/pack/apps.ts';
import { checkTarball } from './package/pack/contents.ts';
import { startServer } from './package/pack/database.ts';
import { checkEffects } from './package/pack/effects-as-built.ts';
import { checkFootprint } from './package/pack/footprint.ts';
import { checkForms } from './package/pack/forms-as-built.ts';
import { checkPnpm } from './package/pack/pnpm.ts';
import { checkQuickStart } from './package/pack/quick-start.ts';
import { type Context, type Packing, Report } from './package/pack/report.ts';
import type { Tarball } from './package/pack/tarball.ts';

const RESULT = fileURLToPath(new URL('../.data/test-results/pack.json', import.meta.url));

/** The walks, each in a folder of its own. */
const WALKS: Record<string, (context: Context, tarball: Tarball) => Promise<void>> = {
  one: checkOneApp,
  'quick-start': checkQuickStart,
  pnpm: checkPnpm,
  workspaces: checkWorkspaces,
  nodenext: checkNodenext,
  'next-15': checkNext15,
  service: checkService,
  forms: checkForms,
  effects: checkEffects,
  footprint: checkFootprint,
};

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = named.filter((name) => !Object.hasOwn(WALKS, name));
if (unknown.length > 0)
  throw new Error(`There is no walk ${unknown.join(', ')}, only ${Object.keys(WALKS).join(', ')}.`);
const isOne = process.argv.includes('--one');
const isContents = process.argv.includes('--contents');
const say = (line: string) => console.log(line);
const report = new Report(say);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

/** The walks that are asked for, on a database server of their own. */
async function walk(packing: Packing, tarball: Tarball): Promise<void> {
  const server = await startServer();
  const chosen = named.length > 0 ? named : Object.keys(WALKS);
  try {
    for (const name of isOne ? ['one'] : chosen) await WALKS[name]?.({ ...packing, server }, tarball);
  } finally {
    await server.stop();
  }
}

try {
  const packing = { report, signal: stopping.signal, isThorough: !isOne && !isContents };
  const tarball = await checkTarball(packing);
  if (tarball && !isContents) await walk(packing, tarball);
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.error(why);
  report.failures.push({ test: 'The package, installed', why });
}

const { passed, failed, failures } = report;
await mkdir(path.dirname(RESULT), { recursive: true });
await writeFile(RESULT, JSON.stringify({ passed, failed, skipped: 0, failures, files: [], lacking: [] }));
say(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
