/** Scripts of a stranger's app, run by `tsx`: as CommonJS, for its package.json does not say "type": "module". */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { titleOf } from '../../docs/compile.ts';
import { type Block, readPage, root } from '../../docs/pages.ts';
import { spawnChild } from '../../services/process.ts';
import { command, strangersEnvironment } from './commands.ts';
import { writeFiles } from './fixture.ts';
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

export async function checkScripts({ report, signal }: Context, app: string, databaseUrl: string): Promise<void> {
  const worker = await documented('docs/worker.md', 'worker.ts');
  await writeFiles(app, {
    'seed.ts': SEED,
    'worker.ts': worker.text,
    // What the page's worker imports, by the names that it has there.
    'lib/checkout.ts': "export { checkout } from './orders';\n",
    'lib/receipts.ts': "export const sendReceipt = async () => console.log('A receipt is sent.');\n",
  });
  await report.alone('npx tsx seed.ts: a script without "type": "module" sells once', async () => {
    for (let time = 0; time < 2; time++) {
      const told = await command(['npx', 'tsx', '--env-file=.env', 'seed.ts'], { cwd: app, signal });
      if (told.split('\n').at(-1) !== 'one order') throw new Error(told);
    }
  });
  await report.alone('npx tsx worker.ts: that of the docs runs a job, and ends when it is told to', () =>
    runsJobs(app, databaseUrl, signal),
  );
}

/** A block of a page that is a file of the app. */
export async function documented(page: string, file: string): Promise<Block> {
  const { blocks } = readPage(page, await readFile(path.join(root, page), 'utf8'));
  const block = blocks.find((each) => titleOf(each) === file);
  if (!block) throw new Error(`${page} shows no ${file}.`);
  return block;
}

async function runsJobs(app: string, databaseUrl: string, signal: AbortSignal): Promise<void> {
  const lines: string[] = [];
  const worker = spawnChild({
    name: 'the worker',
    command: path.join(app, 'node_modules/.bin/tsx'),
    args: ['--env-file=.env', 'worker.ts'],
    cwd: app,
    env: strangersEnvironment(),
    onLine: (line) => lines.push(line),
    log: () => {},
  });
  const db = new pg.Client({ connectionString: databaseUrl });
  try {
    await db.connect();
    const isRunning = async () => {
      const { rows } = await db.query("SELECT to_regclass('graphile_worker._private_jobs') IS NOT NULL AS there");
      return rows[0].there as boolean;
    };
    await untilTrue(isRunning, { signal });
    await db.query("SELECT graphile_worker.add_job('receipt', '{}')");
    await untilTrue(() => lines.includes('A receipt is sent.'), { signal });
    // To tsx alone, as a host does: it hands the signal on.
    process.kill(worker.pid as number, 'SIGTERM');
    const code = await worker.ended;
    if (code !== 0) throw new Error(`It ended with ${code}.`);
  } catch (error) {
    throw new Error([error instanceof Error ? error.message : error, 'The worker wrote:', ...lines].join('\n'));
  } finally {
    await worker.stop();
    await db.end();
  }
}

async function untilTrue(is: () => boolean | Promise<boolean>, { signal }: { signal: AbortSignal }): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
  while (!(await is())) await wait(100, undefined, { signal: deadline });
}
