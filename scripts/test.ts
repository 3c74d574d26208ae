/**
 * `npm test`, every guarantee once: says its plan, sets up what it needs, runs Vitest, the package's own test and Playwright, and ends
 * with one line, `N passed, N failed`. `--all` runs every test, and the forms in the wild once more on the build with Cache Components
 * (testing/builds.ts); `--chaos` those that kill, soak, fail over and attack (testing/tier.ts).
 * Files that fail run once more, alone, but for `--chaos`: those that pass then are told as flaky, and kept in `.data/flaky.jsonl`.
 * `--e2e [filter]` runs the end-to-end tests alone, and with `--vitest filter` behind it those of Vitest's files as well;
 * `--matrix` those that each build of the demo must pass, on all four;
 * `--engines [--project=firefox]` the checkout in Chromium, Firefox and WebKit, or in those that are named.
 */
import { randomInt } from 'node:crypto';
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { envOf, nameOf, VARIANTS, type Variant, variantOf } from '../shop/variants.ts';
import { buildApp, generateSources } from './services/build-app.ts';
import { ensureEngines } from './services/engines-install.ts';
import { findPrograms, installPrograms } from './services/install-programs.ts';
import { spawnChild } from './services/process.ts';
import { buildsOf } from './testing/builds.ts';
import { cpuLines, cpuSeconds, workedIn } from './testing/cpu.ts';
import { type EnginesSpec, enginesTable } from './testing/engines-table.ts';
import { flakyLines, judge, withOpenLines } from './testing/flaky.ts';
import { lackingRows, withUnheld } from './testing/held.ts';
import { type MatrixSpec, matrixTable, type Run } from './testing/matrix-table.ts';
import { planLines, type Step } from './testing/plan.ts';
import { countOf } from './testing/playwright-report.ts';
import { measureSlowness } from './testing/slowness.ts';
import {
  type Count,
  countIn,
  type Failure,
  linesOf,
  reportInto,
  skippedLines,
  sumOf,
  type TestFile,
  withExit,
} from './testing/test-count.ts';
import { isWithout, type Program } from './testing/without.ts';

const RESULTS = fileURLToPath(new URL('../.data/test-results/', import.meta.url));
const FLAKY = fileURLToPath(new URL('../.data/flaky.jsonl', import.meta.url));
const pageOf = (name: string) => readFile(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
const isAll = process.argv.includes('--all');
const isChaos = process.argv.includes('--chaos');
/** `npm test` itself. */
const isShort = process.argv.length === 2;
/** Has every guarantee: what fails may have been flaky, and what docs/failures.md names must have run. */
const isWhole = isShort || isAll;
const tier = isAll ? 'all' : isChaos ? 'chaos' : isShort ? 'short' : undefined;
const TIER: Record<string, string> = tier ? { TIER: tier } : {};
/** Of Vitest's files those that kill processes or try what chance makes. */
const CHAOS = [
  'worker/crash',
  'worker/soak',
  'messaging/crash',
  'once-per',
  'fuzz',
  'random-handlers',
  'nats/storm',
  'durability',
];
const isMatrix = process.argv.includes('--matrix');
const isEngines = process.argv.includes('--engines');
const e2eOnly = isMatrix || isEngines || process.argv.includes('--e2e');
const [forPlaywright, forVitest] = splitAt('--vitest', process.argv.slice(2));
const chosen = forPlaywright.filter((arg) => !['--all', '--chaos', '--e2e', '--engines'].includes(arg));
const filters = isEngines ? ['--config=playwright.engines.config.ts', ...chosen] : chosen;
const say = (line: string) => console.log(line);

const runsVitest = !e2eOnly || forVitest.length > 0;
/** For a machine of slowness 1 that does nothing besides, of whole runs; of `npm test`, of each step. */
const MINUTES: Record<string, number> = { all: 18, chaos: 7.5 };
const ofShort = (minutes: number) => (isShort ? minutes : undefined);

/** A run, as either table reads it. */
type BothRun = Run<MatrixSpec & EnginesSpec>;

// One word for all: the runners and the servers they start stop with this process.
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

/** The arguments before the word, and those behind it. */
function splitAt(word: string, args: string[]): [before: string[], behind: string[]] {
  const at = args.indexOf(word);
  return at === -1 ? [args, []] : [args.slice(0, at), args.slice(at + 1)];
}

/** Of every process of the tests. */
const SHORT_LIVED = {
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require="${fileURLToPath(new URL('testing/short-lived.cjs', import.meta.url))}"`,
};

/** Runs a tool and shows what it prints. */
async function runner(
  name: string,
  args: string[],
  env: Record<string, string>,
  read: () => Promise<Count>,
  onLine = say,
): Promise<Count> {
  stopping.signal.throwIfAborted();
  say(`\n${name}`);
  const child = spawnChild({
    name,
    command: process.execPath,
    args,
    env: { ...SHORT_LIVED, ...env },
    onLine,
    log: say,
  });
  stopping.signal.addEventListener('abort', child.stop);
  const code = await child.ended;
  stopping.signal.removeEventListener('abort', child.stop);
  stopping.signal.throwIfAborted();
  return withExit(await read(), name, code);
}

async function vitest(name: string, which: string[]): Promise<Count> {
  const file = `${RESULTS}vitest.json`;
  await rm(file, { force: true });
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...reportInto(file), ...which];
  return await runner(name, args, TIER, () => countIn(file));
}

/**
 * Looks at the contents of the package; for `--all` it is also installed in an app, which needs a browser. `npm run test:pack` has
 * more of them.
 */
async function pack(): Promise<Count> {
  const args = ['--import', 'tsx', 'scripts/test-pack.ts', isAll && !isWithout('chromium') ? '--one' : '--contents'];
  return await runner('The package', args, {}, () => countIn(`${RESULTS}pack.json`));
}

async function playwright(variant: Variant, which: readonly string[], runs: BothRun[] = []) {
  const build = nameOf(variant);
  const file = `${RESULTS}playwright-${build}.json`;
  await rm(file, { force: true });
  // Without a browser all its tests count as skipped: those that are listed do.
  const how = isWithout('chromium') ? ['--list', '--reporter=json'] : ['--reporter=list,json'];
  const args = ['node_modules/@playwright/test/cli.js', 'test', ...how, ...which];
  const env = { PLAYWRIGHT_JSON_OUTPUT_NAME: file, ...TIER, ...envOf(variant) };
  const read = async () => {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) return sumOf([]);
    const report = JSON.parse(text);
    runs.push({ build, report });
    return countOf(report, build);
  };
  // The tests of a list are indented: how many there are is enough.
  const sayHowMany = (line: string) => line.startsWith('  ') || say(line);
  return await runner(`End-to-end tests (${build})`, args, env, read, isWithout('chromium') ? sayHowMany : say);
}

/** One file of the run, once more, while nothing else runs. */
async function runAgain({ on, path }: TestFile): Promise<Count> {
  const name = `Once more: ${path} (${on})`;
  const variant = VARIANTS.find((each) => nameOf(each) === on);
  if (!variant) return await vitest(name, ['--project', on, path]);
  say(`\n${name}`);
  return await playwright(variant, ['--workers=1', path]);
}

/** Keeps what was flaky for whoever comes next, in an ignored file. */
async function keep(flaky: readonly Failure[]): Promise<void> {
  if (flaky.length === 0) return;
  const at = new Date().toISOString();
  await appendFile(FLAKY, flaky.map((failure) => `${JSON.stringify({ at, ...failure })}\n`).join(''));
}

/** Those that Playwright is asked for, or both. */
function namedEngines(): string[] {
  const named = chosen.flatMap((arg) => /^--project=(.+)$/.exec(arg)?.[1] ?? []);
  return named.length > 0 ? named : ['firefox', 'webkit'];
}

/** Lists what this run does, in turn. */
function steps(): Step[] {
  const hasBrowser = !isWithout('chromium');
  const ofVitest = `unit, type, ${hasBrowser ? 'component ' : ''}and database tests`;
  const ofPackage = `the package: what is in it${isAll && hasBrowser ? ', installed in an app' : ''}`;
  return [
    ...(runsVitest ? [{ what: ofVitest, minutes: ofShort(3.7) }] : []),
    ...(isWhole ? [{ what: ofPackage, minutes: ofShort(0.2) }] : []),
    ...(hasBrowser
      ? [
          { what: 'the production build of the app, unless there is one', minutes: ofShort(0.4) },
          { what: 'end-to-end tests', minutes: ofShort(3.1) },
          ...(isAll
            ? [{ what: 'the build with Cache Components, and the forms in the wild beside their bare twins on it' }]
            : []),
        ]
      : []),
  ];
}

async function main(): Promise<boolean> {
  const startedAt = await cpuSeconds();
  await rm(RESULTS, { recursive: true, force: true });
  await mkdir(RESULTS, { recursive: true });
  const { signal } = stopping;
  const slowness = await measureSlowness();
  process.env.TEST_SLOWNESS = String(slowness); // what is started from here on inherits it
  say(`Tests wait ${slowness} times as long here as they would on the machine that they were written on.`);
  const seed = process.env.SEED ?? (isChaos ? 'random' : undefined);
  if (seed !== undefined) {
    process.env.SEED = seed === 'random' ? String(randomInt(2 ** 31)) : seed;
    say(`What is left to chance: SEED=${process.env.SEED} does it again.`);
  }
  const needed: Program[] = ['chromium'];
  if (!isMatrix && !isEngines) needed.push('nats');
  if (runsVitest) needed.push('pgbouncer');
  const programs = await findPrograms(needed);
  say(['', ...planLines({ slowness, steps: steps(), total: MINUTES[tier ?? ''], programs }), ''].join('\n'));
  await generateSources({ log: say, signal });
  const lacks = await installPrograms(needed, { log: say, signal });
  if (isEngines) {
    // Without one of the engines there is nothing to compare.
    if (isWithout('chromium')) throw new Error(lacks.get('chromium'));
    await ensureEngines(namedEngines(), { log: say, signal });
  }
  const files = isChaos ? CHAOS : forVitest;
  const counts = runsVitest ? [await vitest('Unit, type, component and database tests', files)] : [];
  if (isWhole) counts.push(await pack());
  const runs: BothRun[] = [];
  const own = { variant: variantOf(process.env), which: filters };
  for (const { variant, which } of buildsOf(isAll ? 'all' : isMatrix ? 'matrix' : 'other', own)) {
    if (!isWithout('chromium')) await buildApp({ log: say, signal, variant });
    counts.push(await playwright(variant, which, runs));
  }
  // `npm test` has some of its rows; a list of tests has run none.
  const matrix = isShort || isWithout('chromium') ? [] : matrixTable(runs);
  const table = isEngines ? runs.flatMap(({ report }) => enginesTable(report)) : matrix;
  if (table.length > 0) say(`\n${table.join('\n')}`);
  const sum = sumOf(counts);
  // The other commands look for races: what fails there once has failed.
  const { count, flaky } = isWhole ? await judge(sum, runAgain) : { count: sum, flaky: [] };
  await keep(flaky);
  const failuresPage = await pageOf('failures');
  const all = isWhole ? withUnheld(withOpenLines(count, await pageOf('flaky')), failuresPage) : count;
  const skipped = skippedLines(all, lacks, isWhole ? lackingRows(all, failuresPage) : []);
  const lines = flakyLines(flaky, new Date().toISOString().slice(0, 10));
  const { STAT_BEFORE_CHECK = '', STAT_AFTER_CHECK = '' } = process.env; // of .ci/run
  const ofCheck = workedIn(STAT_AFTER_CHECK) - workedIn(STAT_BEFORE_CHECK);
  const cpu = cpuLines((await cpuSeconds()) - startedAt, performance.now(), ofCheck);
  say([...lines, ...cpu, ...skipped, ...linesOf(all)].join('\n'));
  return all.failed === 0 && all.passed > 0;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  // A project that could not be set up has not passed.
  say('\n0 passed, 1 failed');
  process.exitCode = 1;
}
