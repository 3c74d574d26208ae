/**
 * `npm run check`, behind the generated code: format and lint, types, rooms, unused code, the rules of the contract, the map, the
 * waits of tests, the size of a form and of the kit. The types take as long as all the rest, so both run at once. What a check says is printed in one piece.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const ROOMS = [
  'app',
  'components',
  'lib',
  'shop',
  'simulators',
  'scripts',
  'e2e',
  'bench',
  'proxy.ts',
  'instrumentation.ts',
];
const TYPES = [['tsc', '--noEmit']];
const REST = [
  ['npm', 'run', 'lint', '--silent'],
  ['depcruise', '--config', '.dependency-cruiser.mjs', ...ROOMS],
  ['knip'],
  ['npm', 'run', 'contract', '--silent'],
  ['npm', 'run', 'map', '--silent'],
  ['npm', 'run', 'waits', '--silent'],
  ['npm', 'run', 'size', '--silent'],
  ['npm', 'run', 'size:kit', '--silent'],
];

/** Runs all of them, one behind the other: a person who mends one thing wants to know of the next. */
async function run(checks: readonly string[][]): Promise<boolean> {
  let isWell = true;
  for (const [program = '', ...args] of checks) {
    const said: Buffer[] = [];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => said.push(chunk));
    const [code] = await once(child, 'close');
    process.stdout.write(
      `${code === 0 ? '✓' : '✗'} ${[program, ...args.slice(0, 2)].join(' ')}\n${Buffer.concat(said)}`,
    );
    isWell &&= code === 0;
  }
  return isWell;
}

// npm has put node_modules/.bin on the PATH.
const outcomes = await Promise.all([run(TYPES), run(REST)]);
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
