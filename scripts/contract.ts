/**
 * `npm run contract`, a part of `npm run check`: every code that is cited is a rule of docs/contract.md, a test cites each
 * rule, and what users read has no codes.
 */
import { contractFaults } from './docs/contract/faults.ts';
import { reportFaults } from './docs/fault.ts';
import { referencePages } from './docs/reference.ts';
import { repositoryFiles } from './docs/repository-files.ts';

reportFaults(contractFaults(repositoryFiles(), [...referencePages().values()].join('\n')));
