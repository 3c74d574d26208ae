/**
 * `npm run contract`, a part of `npm run check`: every code that is cited is a rule of docs/contract.md, a test cites each
 * rule, and what users read has no codes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { contractFaults } from './docs/contract/faults.ts';
import { referencePages } from './docs/reference.ts';

const root = path.resolve(import.meta.dirname, '..');
const READ = /\.(tsx?|mjs|md|sql|prisma)$/;

/** The files of the repository, also those that are not committed yet. */
function repositoryFiles(): Map<string, string> {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const names = listed.split('\n').filter((name) => READ.test(name) && existsSync(path.join(root, name)));
  return new Map(names.map((name) => [name, readFileSync(path.join(root, name), 'utf8')]));
}

const faults = contractFaults(repositoryFiles(), [...referencePages().values()].join('\n'));
for (const { file, line, advice } of faults) console.error(`${file}:${line}: ${advice}`);
if (faults.length > 0) process.exitCode = 1;
