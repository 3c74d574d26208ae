/**
 * `npm run test:nodes`: the unit and database tests on each Node that the kit runs on. Each comes from the npm registry,
 * into `.data/nodes`. Arguments are filters of Vitest's.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateSources } from './services/build-app.ts';
import { installPrograms } from './services/install-programs.ts';
import { spawnChild } from './services/process.ts';
import { runVisibly } from './services/programs.ts';
import { type Count, countIn, linesOf, reportInto, skippedLines, sumOf, withExit } from './testing/test-count.ts';

const VERSIONS = ['20', '22', '24'];
const FOLDER = fileURLToPath(new URL('../.data/nodes/', import.meta.url));
const filters = process.argv.slice(2);

interface Outcome extends Count {
  version: string;
  seconds: number;
}

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

/**
 * The program, installed where it is missing. From the package with the binary itself: the package `node` would fetch that
 * by a script, which npm runs only where somebody has allowed it.
 */
async function ensureNode(major: string): Promise<string> {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${system}-${process.arch}`;
  const home = path.join(FOLDER, major);
  const program = path.join(home, 'node_modules', name, system === 'win' ? 'bin/node.exe' : 'bin/node');
  if (existsSync(program)) return program;
  console.log(`Installing Node ${major} …`);
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  await writeFile(path.join(home, 'package.json'), '{ "private": true }\n');
  const { signal } = stopping;
  await runVisibly(['npm', 'install', '--no-audit', '--no-fund', `${name}@${major}`], { cwd: home, signal });
  return program;
}

async function testOn(program: string): Promise<Outcome> {
  stopping.signal.throwIfAborted();
  const version = await versionOf(program);
  console.log(`\nUnit and database tests on Node ${version}`);
  const startedAt = performance.now();
  const file = path.join(FOLDER, `vitest-${version}.json`);
  await rm(file, { force: true });
  const projects = ['unit', 'db*'].flatMap((name) => ['--project', name]);
  const say = (line: string) => console.log(line);
  const child = spawnChild({
    name: `Node ${version}`,
    command: program,
    args: ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...reportInto(file), ...filters],
    // The tests start this Node by its name, too.
    env: { PATH: [path.dirname(program), process.env.PATH].join(path.delimiter) },
    onLine: say,
    log: say,
  });
  stopping.signal.addEventListener('abort', child.stop);
  const code = await child.ended;
  stopping.signal.throwIfAborted();
  const seconds = (performance.now() - startedAt) / 1000;
  return { version, ...withExit(await countIn(file), `Node ${version}`, code), seconds };
}

async function versionOf(program: string): Promise<string> {
  const lines: string[] = [];
  await spawnChild({ name: program, command: program, args: ['--version'], onLine: (line) => lines.push(line) }).ended;
  const version = lines.find((line) => /^v\d+\./.test(line));
  if (!version) throw new Error(`${program} does not run here:\n${lines.join('\n')}`);
  return version.slice(1);
}

function table(outcomes: Outcome[]): string[] {
  const rows = outcomes.map(({ version, passed, failed, skipped, seconds }) =>
    [version, passed, failed, skipped, `${Math.round(seconds)} s`].map(String),
  );
  const all = [['Node', 'passed', 'failed', 'skipped', 'time'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '));
}

try {
  const { signal } = stopping;
  const log = console.log;
  await generateSources({ log, signal });
  const lacks = await installPrograms(['nats', 'pgbouncer'], { log, signal });
  const programs: string[] = [];
  for (const major of VERSIONS) programs.push(await ensureNode(major));
  const outcomes: Outcome[] = [];
  for (const program of programs) outcomes.push(await testOn(program));
  console.log(`\n${table(outcomes).join('\n')}`);
  const all = sumOf(outcomes);
  console.log([...skippedLines(all, lacks, []), ...linesOf(all)].join('\n'));
  process.exitCode = all.failed === 0 && all.passed > 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  console.log('\n0 passed, 1 failed');
  process.exitCode = 1;
}
