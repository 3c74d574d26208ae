/**
 * `npm run bench`: a database of its own, every benchmark in turn, markdown and JSON into bench/results/.
 * `npm run bench -- first replay` runs those two.
 *
 * The kit is built first, as in a user's app. From its TypeScript, tsx would have every inner function named at each
 * call, which Prisma's floor, built long ago, is spared.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundle } from '../scripts/package/bundle.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = '.data/bench-kit';
const ENTRIES = {
  oncekit: 'lib/index.ts',
  'oncekit/adapter-pg': 'lib/adapter-pg/index.ts',
  'oncekit/messaging': 'lib/messaging/index.ts',
  'oncekit/next': 'lib/next/index.ts',
  'oncekit/worker': 'lib/worker/index.ts',
};

await bundle(ENTRIES, FOLDER);
const paths = Object.fromEntries(Object.keys(ENTRIES).map((name) => [name, [`./${name}.mjs`]]));
const tsconfig = `${ROOT}${FOLDER}/tsconfig.json`;
await writeFile(tsconfig, JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { paths } }));

const child = fork(new URL('./all.ts', import.meta.url), process.argv.slice(2), {
  cwd: ROOT,
  env: { ...process.env, TSX_TSCONFIG_PATH: tsconfig },
  execArgv: ['--import', 'tsx'],
});
const [code] = await once(child, 'exit');
process.exitCode = code ?? 1;
