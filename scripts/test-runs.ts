/**
 * `npm run test:runs -- 10`: so many runs of the README's test command, each in a fresh clone of the last commit, one behind the other.
 * Each leaves a line in docs/test-runs.md as soon as it is over. `--burn`: beside as many busy processes as there are cores.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from './services/process.ts';
import { type RunResult, resultOf, rowOf } from './testing/run-row.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = path.join(ROOT, 'docs/test-runs.md');

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT }).toString().trim();

/** Keeps every core busy until it is told to stop, in turns of which each lets the process see that its parent is gone. */
function burn(): () => void {
  const args = ['-e', 'setInterval(() => { const end = Date.now() + 500; while (Date.now() < end); }, 0)'];
  const busy = Array.from({ length: availableParallelism() }, () =>
    spawnChild({ name: 'A burner', command: process.execPath, args }),
  );
  return () => {
    for (const one of busy) void one.stop();
  };
}

async function runOnce(commit: string, isBurnt: boolean): Promise<RunResult & { log: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'oncekit-run-'));
  const clone = path.join(folder, 'x');
  const log = `${folder}.log`;
  const stopBurning = isBurnt ? burn() : () => {};
  try {
    git('clone', '--quiet', ROOT, clone);
    execFileSync('git', ['checkout', '--quiet', commit], { cwd: clone });
    const lines: string[] = [];
    const began = performance.now();
    const child = spawnChild({
      name: 'The tests',
      command: 'sh',
      args: ['-c', 'npm ci --no-audit --no-fund && npm test'],
      cwd: clone,
      onLine: (line) => lines.push(line),
    });
    stopping.signal.addEventListener('abort', child.stop);
    const code = await child.ended;
    stopping.signal.throwIfAborted();
    writeFileSync(log, `${lines.join('\n')}\n`);
    const kept = path.join(clone, '.data/flaky.jsonl');
    const flaky = existsSync(kept) ? readFileSync(kept, 'utf8').split('\n').filter(Boolean).length : 0;
    return { log, ...resultOf(lines, code, { flaky, minutes: (performance.now() - began) / 60_000 }) };
  } finally {
    stopBurning();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<boolean> {
  const runs = Number(process.argv.find((arg) => /^\d+$/.test(arg)) ?? 1);
  const isBurnt = process.argv.includes('--burn');
  if (git('status', '--porcelain', '--', ':!docs/test-runs.md'))
    throw new Error('There are changes that are not committed, which a clone would not have. Commit or stash them.');
  const commit = git('rev-parse', '--short=7', 'HEAD');
  let isGreen = true;
  for (let run = 1; run <= runs; run++) {
    const { log, ...result } = await runOnce(commit, isBurnt);
    appendFileSync(PAGE, `${rowOf({ at: new Date(), commit, isBurnt, ...result })}\n`);
    console.log(
      `${run} of ${runs}: ${result.passed} passed, ${result.failed} failed, ${result.flaky} flaky. What it printed: ${log}`,
    );
    isGreen &&= result.failed === 0;
  }
  return isGreen;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
