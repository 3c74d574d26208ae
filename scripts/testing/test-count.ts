import { readFile } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import { NAMES, type Program } from './without.ts';

/** A file of tests, and the project of Vitest's or the build of the app that it ran on. */
export interface TestFile {
  on: string;
  path: string;
}

/** A test that did not pass. */
export interface Failure {
  test: string;
  why: string;
  /** The words of its file when it ran once more, alone. */
  again?: string;
  /** None of an error outside of all tests, or of a program that ended badly. */
  file?: TestFile;
}

/** How many tests of a run passed and failed, and which. */
export interface Count {
  passed: number;
  failed: number;
  skipped: number;
  failures: Failure[];
  /** The files of which at least one test passed, as the repository names them. */
  files: string[];
  /** Of those that were skipped, each that was for want of a program, and its file. */
  lacking: { program: Program; file: string }[];
}

/** Vitest's arguments for a run that leaves its counts in that file. */
export const reportInto = (file: string) => [
  '--silent=passed-only',
  '--reporter=./scripts/testing/vitest-report.ts',
  `--outputFile=${file}`,
];

/** The counts that a run has left in a file. None of a run that has left nothing. */
export async function countIn(file: string): Promise<Count> {
  return await readFile(file, 'utf8').then(JSON.parse, () => sumOf([]));
}

/** A program that ends badly without a failed test counts as one failure. */
export function withExit(count: Count, name: string, code: number | null): Count {
  if (code === 0 || count.failed > 0) return count;
  return { ...count, failed: 1, failures: [{ test: name, why: `exited with ${code}` }] };
}

/** All of them as one. */
export function sumOf(counts: readonly Count[]): Count {
  const total = (key: 'passed' | 'failed' | 'skipped') => counts.reduce((sum, count) => sum + count[key], 0);
  return {
    passed: total('passed'),
    failed: total('failed'),
    skipped: total('skipped'),
    failures: counts.flatMap(({ failures }) => failures),
    files: [...new Set(counts.flatMap(({ files }) => files))],
    lacking: counts.flatMap(({ lacking }) => lacking),
  };
}

const LONGEST = 200;

/** The words of a failure, in one line. */
export const inShort = (why: string) => stripVTControlCharacters(why).replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST);

/** The failures in short, below their heading; nothing where there are none. */
export function listOf(heading: string, failures: readonly Failure[]): string[] {
  if (failures.length === 0) return [];
  const linesOfOne = ({ test, why, again }: Failure) => [
    `  ${test}`,
    `    ${inShort(why)}`,
    ...(again === undefined ? [] : [`    run again, alone: ${inShort(again)}`]),
  ];
  return ['', heading, ...failures.flatMap(linesOfOne)];
}

/** For the end of a log whose beginning nobody may have: the failures in short, and the line that says it all. */
export function linesOf({ passed, failed, skipped, failures }: Count): string[] {
  const last = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  return [...listOf('Failed:', failures), '', last];
}

/** The block about what was skipped: how many tests, for want of what, how to get it (`why`), and the rows of docs/failures.md. */
export function skippedLines(
  { lacking }: Pick<Count, 'lacking'>,
  why: ReadonlyMap<Program, string>,
  rows: readonly string[],
): string[] {
  if (why.size === 0) return [];
  const linesOfOne = ([program, sentence]: [Program, string]) => {
    const tests = lacking.filter((each) => each.program === program).length;
    const more =
      program === 'chromium' ? ', and what is not counted: component tests, and of test:all the package in an app' : '';
    return [`  ${NAMES[program]}: ${tests} tests${more}`, `    ${sentence}`];
  };
  return [
    '',
    'Skipped, for want of a program:',
    ...[...why].flatMap(linesOfOne),
    ...(rows.length > 0
      ? ['Not looked at here, of the rows of docs/failures.md:', ...rows.map((row) => `  ${row}`)]
      : []),
  ];
}
