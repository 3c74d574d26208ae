/**
 * `npm run contract`, a part of `npm run check`: every code that is cited is a rule of docs/contract.md, a test cites each
 * rule, and what users read has no codes.
 */
import { contractFaults } from './docs/contract/faults.ts';
import { referencePages } from './docs/reference.ts';
import { repositoryFiles } from './docs/repository-files.ts';

const faults = contractFaults(repositoryFiles(), [...referencePages().values()].join('\n'));
for (const { file, line, advice } of faults) console.error(`${file}:${line}: ${advice}`);
if (faults.length > 0) process.exitCode = 1;
