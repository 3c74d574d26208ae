/** Scripts of a stranger's app, run by `tsx`: as CommonJS, for its package.json does not say "type": "module". */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { titleOf } from '../../docs/compile.ts';
import { type Block, readPage, root } from '../../docs/pages.ts';
import { spawnChild } from '../../services/process.ts';
import { strangersEnvironment, tsx } from './commands.ts';
import { query } from './database.ts';
import { npmInstall, writeFiles } from './fixture.ts';
import type { Context } from './report.ts';

const SEED = `import { checkout } from './lib/orders';

async function main() {
  const scope = { tenant: 'main', principal: 'seed' };
  const outcome = await checkout.execute({ key: 'seed-1', scope, payload: { sku: 'mug', quantity: 1 } });
  console.log(outcome.ok ? 'one order' : outcome.code);
  process.exit();
}
main();
`;

/** Adds a job by the docs' own function, and says what that has thrown. */
const ENQUEUE = `import { markPaid } from './lib/paid';
import { prisma } from './lib/prisma';

prisma.$transaction((tx) => markPaid(tx, 'order-17')).then(
  () => process.exit(),
  (error) => {
    console.error(error.name + ': ' + error.message);
    process.exit(1);
  },
);
`;
const INSTALL = 'npm install graphile-worker@0.17';

export async function checkScripts({ report, signal }: Context, app: string, databaseUrl: string): Promise<void> {
  const pages = ['worker.ts', 'lib/tasks.ts', 'lib/paid.ts'].map((file) => documented('docs/worker.md', file));
  const files = Object.fromEntries((await Promise.all(pages)).map((block) => [titleOf(block), block.text]));
  await writeFiles(app, {
    ...files,
    'seed.ts': SEED,
    'enqueue.ts': ENQUEUE,
    // The imports of the page's modules, by the names that they have there.
    'lib/checkout.ts': "export { checkout } from './orders';\n",
    'lib/receipts.ts':
      "export const sendReceipt = async (orderId: string) => console.log('A receipt is sent:', orderId);\n",
  });
  await report.alone('npx tsx seed.ts: a script without "type": "module" sells once', async () => {
    for (let time = 0; time < 2; time++) {
      const told = await tsx(app, 'seed.ts', signal);
      if (told.split('\n').at(-1) !== 'one order') throw new Error(told);
    }
  });
  await report.alone('npx oncekit worker runs without a job runner', () => runsAlone(app, signal));
  const saysWhatToInstall = async (file: string) => {
    const told = await tsx(app, file, signal).then(
      (output) => `It ended well:\n${output}`,
      (error: Error) => error.message,
    );
    if (!/ended with code 1\b/.test(told) || !told.includes(INSTALL)) throw new Error(told);
  };
  await report.alone('a worker with tasks and no job runner ends, and says what to install', () =>
    saysWhatToInstall('worker.ts'),
  );
  await report.alone('a job that is added to no queue says it, too', () => saysWhatToInstall('enqueue.ts'));
  await report.check(INSTALL, () => npmInstall(app, INSTALL.split(' ').slice(2), signal));
  await report.alone('npx tsx worker.ts: that of the docs runs a job, and ends when it is told to', () =>
    runsJobs(app, databaseUrl, { signal, enqueue: () => tsx(app, 'enqueue.ts', signal) }),
  );
}

/** A block of a page that is a file of the app. */
export async function documented(page: string, file: string): Promise<Block> {
  const { blocks } = readPage(page, await readFile(path.join(root, page), 'utf8'));
  const block = blocks.find((each) => titleOf(each) === file);
  if (!block) throw new Error(`${page} shows no ${file}.`);
  return block;
}

async function runsAlone(app: string, signal: AbortSignal): Promise<void> {
  const line = [path.join(app, 'node_modules/.bin/oncekit'), 'worker'];
  await withWorker({ cwd: app, line }, (lines) => workerRuns(lines, signal));
}

/** Resolves once the command's worker has said that it runs. */
export async function workerRuns(lines: string[], signal: AbortSignal): Promise<void> {
  await untilTrue(() => lines.some((line) => line.startsWith('The worker runs.')), { signal });
}

async function runsJobs(
  app: string,
  databaseUrl: string,
  { signal, enqueue }: { signal: AbortSignal; enqueue(): Promise<unknown> },
): Promise<void> {
  const isRunning = async () => {
    const text = "SELECT to_regclass('graphile_worker._private_jobs') IS NOT NULL AS there";
    const [row] = await query(databaseUrl, text);
    return row?.there === true;
  };
  const line = [path.join(app, 'node_modules/.bin/tsx'), '--env-file=.env', 'worker.ts'];
  await withWorker({ cwd: app, line }, async (lines) => {
    await untilTrue(isRunning, { signal });
    await enqueue();
    await untilTrue(() => lines.includes('A receipt is sent: order-17'), { signal });
  });
}

/** Ends the worker as a host does, by a signal to its first process, and expects it to end well. */
export async function withWorker(
  { cwd, line: [program = '', ...args], env = {} }: { cwd: string; line: string[]; env?: Record<string, string> },
  work: (lines: string[]) => Promise<void>,
): Promise<void> {
  const lines: string[] = [];
  const worker = spawnChild({
    name: 'the worker',
    command: program,
    args,
    cwd,
    env: { ...strangersEnvironment(), ...env },
    onLine: (line) => lines.push(line),
    log: () => {},
  });
  try {
    await work(lines);
    process.kill(worker.pid as number, 'SIGTERM');
    const code = await worker.ended;
    if (code !== 0) throw new Error(`It ended with ${code}.`);
  } catch (error) {
    throw new Error([error instanceof Error ? error.message : error, 'The worker wrote:', ...lines].join('\n'));
  } finally {
    await worker.stop();
  }
}

/** Looks again and again, for a minute. */
export async function untilTrue(
  is: () => boolean | Promise<boolean>,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const deadline = AbortSignal.timeout(60_000);
  while (!(await is())) {
    deadline.throwIfAborted();
    await wait(100, undefined, { signal });
  }
}
