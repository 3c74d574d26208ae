/** How much the kit adds to an app: packages, room, and what each entry costs to load. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { command } from './commands.ts';
import { addPackages, inFolder, npmInstall, writeFiles } from './fixture.ts';
import { APP_PACKAGES } from './fixture-app.ts';
import type { Context } from './report.ts';
import { ownPackage, type Tarball } from './tarball.ts';

/**
 * The most that an app with Next and Prisma gets besides the kit itself, whose size `checkTarball` limits. In kB; raise them with a
 * reason.
 */
const MOST = { packages: 7, kB: 2000 };
/** A start each, because a module is loaded once in a process. The cheapest counts: whatever else runs makes them dearer. */
const STARTS = 3;
/** As they were when the job runner came with the kit (issue 27), in the same app. */
const BEFORE = { packages: 56, kB: 9072 };

/** Adds the kit to an app, and prints what came with it. */
export async function checkFootprint({ report, signal }: Context, tarball: Tarball): Promise<void> {
  await inFolder(report, 'What the kit adds to an app', async (app) => {
    await writeFiles(app, { 'package.json': '{ "name": "bare", "private": true, "type": "module" }\n' });
    await addPackages(app, { dependencies: APP_PACKAGES.dependencies });
    await report.check('npm installs an app without it', () => npmInstall(app, [], signal));
    const before = await packagesIn(path.join(app, 'node_modules'));
    await report.check('npm installs the tarball', () => npmInstall(app, [tarball.file], signal));
    const added = new Map([...(await packagesIn(path.join(app, 'node_modules')))].filter(([at]) => !before.has(at)));
    report.note(`${added.size} packages, ${kBOf(added)} kB (before: ${BEFORE.packages} packages, ${BEFORE.kB} kB):`);
    for (const [at, bytes] of [...added].sort(([, one], [, other]) => other - one)) {
      report.note(
        `${String(Math.round(bytes / 1000)).padStart(7)} kB  ${path.relative(path.join(app, 'node_modules'), at)}`,
      );
    }
    await report.alone(`the kit brings ${MOST.packages} packages at most, none of them a job runner`, () => {
      const others = new Map([...added].filter(([at]) => path.basename(at) !== 'oncekit'));
      const othersKB = kBOf(others);
      if (others.size > MOST.packages || othersKB > MOST.kB) {
        throw new Error(`${others.size} packages, ${othersKB} kB.`);
      }
    });
    await report.alone('the time of the processor that each entry takes to load is known', async () => {
      for (const line of await importTimes(app, signal)) report.note(line);
    });
  });
}

const kBOf = (packages: Map<string, number>) =>
  Math.round([...packages.values()].reduce((sum, bytes) => sum + bytes, 0) / 1000);

/** Every package below a node_modules, by its folder, with the bytes of its own files. */
async function packagesIn(modules: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of await readdir(modules).catch(() => [])) {
    if (name.startsWith('.')) continue;
    const folder = path.join(modules, name);
    const inside = name.startsWith('@') ? (await readdir(folder)).map((one) => path.join(folder, one)) : [folder];
    for (const at of inside) {
      found.set(at, await bytesOf(at));
      for (const [nested, bytes] of await packagesIn(path.join(at, 'node_modules'))) found.set(nested, bytes);
    }
  }
  return found;
}

async function bytesOf(folder: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') sum += await bytesOf(at);
    if (entry.isFile()) sum += (await stat(at)).size;
  }
  return sum;
}

/** One line for each entry that a server loads, and one for what a browser does. */
async function importTimes(app: string, signal: AbortSignal): Promise<string[]> {
  const { exports } = await ownPackage();
  const entries = Object.keys(exports).map((entry) => entry.replace('.', 'oncekit'));
  const lines: string[] = [];
  for (const entry of entries.filter((name) => !/package\.json$|\/(testing|react)$/.test(name))) {
    lines.push(`${(await cheapest(app, [entry], signal)).toFixed(0).padStart(7)} ms  ${entry}`);
  }
  // Of the browser's half what it needs besides React.
  lines.push(`${(await cheapest(app, ['oncekit/react'], signal, 'react')).toFixed(0).padStart(7)} ms  oncekit/react`);
  return lines;
}

/** Time of the processor's, in milliseconds: others that use it make that no longer, as they make the time on the clock. */
async function cheapest(app: string, [entry]: [string], signal: AbortSignal, first?: string): Promise<number> {
  const script = `${first ? `await import('${first}');` : ''}
    const before = process.cpuUsage(); await import('${entry}');
    const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000);`;
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const told = await command([process.execPath, '--input-type=module', '-e', script], { cwd: app, signal });
    times.push(Number(told.split('\n').at(-1)));
  }
  return Math.min(...times);
}
