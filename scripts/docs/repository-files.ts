import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './pages.ts';

/** The files of the repository by their names. */
export type Files = ReadonlyMap<string, string>;

const TEST = /\.(test|test-d|testsuite|fixture|child|e2e|engine)\.tsx?$/;
const READ = /\.(tsx?|mjs|cjs|md|sql|prisma)$/;

/** The files of the repository that people read, also those that are not committed yet. */
export function repositoryFiles(): Map<string, string> {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const names = listed.split('\n').filter((name) => READ.test(name) && existsSync(path.join(root, name)));
  return new Map(names.map((name) => [name, readFileSync(path.join(root, name), 'utf8')]));
}

/** Tells a test, or what tests share, by its name. */
export function isTest(file: string): boolean {
  return TEST.test(file);
}
