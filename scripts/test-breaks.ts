/**
 * `npm run test:breaks`: each patch of scripts/testing/breaks breaks a guarantee of docs/failures.md or docs/threat-model.md, in a
 * copy of this folder, and the tests of `npm test` that it names must be red. Names of patches behind it (`lost-commit`): those alone.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateSources } from './services/build-app.ts';
import { spawnChild } from './services/process.ts';
import { type Count, countIn, inShort, reportInto } from './testing/test-count.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PATCHES = path.join(ROOT, 'scripts/testing/breaks');
const TABLES = ['docs/failures.md', 'docs/threat-model.md'];

/** `row`: what it breaks, as one of the two has it. `tests`: Vitest's arguments. */
interface Break {
  name: string;
  row: string;
  tests: string[];
}

const say = (line: string) => console.log(line);
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

function readBreak(file: string): Break {
  const [, row = '', tests = ''] =
    /^Row: (.+)\nTests: (.+)\n\n/.exec(readFileSync(path.join(PATCHES, file), 'utf8')) ?? [];
  const isRow = TABLES.some((doc) => readFileSync(path.join(ROOT, doc), 'utf8').includes(`| ${row} |`));
  if (!isRow) throw new Error(`${file} breaks "${row}", which is no row of ${TABLES.join(' or ')}.`);
  return { name: path.basename(file, '.patch'), row, tests: tests.split(' ') };
}

/** Everything that Git knows of, with the packages that are installed here. */
async function copyOfAll(): Promise<string> {
  const copy = mkdtempSync(path.join(tmpdir(), 'oncekit-breaks-'));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  const files = listed.toString().split('\0').filter(Boolean);
  for (const file of files) cpSync(path.join(ROOT, file), path.join(copy, file), { force: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  await generateSources({ root: copy, log: say, signal: stopping.signal });
  return copy;
}

async function runTests(copy: string, tests: readonly string[]): Promise<Count> {
  const report = path.join(copy, 'count.json');
  rmSync(report, { force: true });
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...reportInto(report), ...tests];
  const lines: string[] = [];
  const child = spawnChild({
    name: 'Vitest',
    command: process.execPath,
    args,
    env: { TIER: 'short' },
    cwd: copy,
    onLine: (line) => lines.push(line),
    log: () => {},
  });
  stopping.signal.addEventListener('abort', child.stop);
  await child.ended;
  stopping.signal.removeEventListener('abort', child.stop);
  stopping.signal.throwIfAborted();
  const count = await countIn(report);
  if (count.passed + count.failed === 0) throw new Error(`No test has run:\n${lines.slice(-40).join('\n')}`);
  return count;
}

async function main(): Promise<string[]> {
  const named = process.argv.slice(2);
  const all = readdirSync(PATCHES).map(readBreak);
  const unknown = named.filter((name) => !all.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`There is no patch ${unknown.join(', ')} in scripts/testing/breaks.`);
  const breaks = named.length > 0 ? all.filter(({ name }) => named.includes(name)) : all;
  const copy = await copyOfAll();
  try {
    // Red for another reason would prove nothing.
    const whole = await runTests(copy, [...new Set(breaks.flatMap(({ tests }) => tests))]);
    if (whole.failed > 0)
      return whole.failures.map(({ test, why }) => `Red without any patch: ${test}: ${inShort(why)}`);
    say(`Without any patch: ${whole.passed} passed.`);
    const wrong: string[] = [];
    for (const { name, row, tests } of breaks) {
      const patch = path.join(PATCHES, `${name}.patch`);
      execFileSync('git', ['apply', patch], { cwd: copy });
      const { passed, failed, failures } = await runTests(copy, tests);
      execFileSync('git', ['apply', '--reverse', patch], { cwd: copy });
      say(
        `${failed > 0 && passed > 0 ? '✓' : '✗'} ${name} (${row}): ${failed} of ${passed + failed} failed. ${failures[0]?.test ?? ''}`,
      );
      // Where nothing passes any more, something else is broken.
      if (failed === 0 || passed === 0)
        wrong.push(`${name} breaks "${row}", and no test of ${tests.join(' ')} says so.`);
    }
    return wrong;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

try {
  const wrong = await main();
  for (const line of wrong) console.error(line);
  process.exitCode = wrong.length === 0 ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
