/**
 * `npm run waits`, a part of `npm run check`: finds the ways to leave a test's verdict to the machine that have failed by chance here.
 * Not all there are: a time that was put into a variable first is not followed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { waitsIn } from './testing/waits.ts';

/** Programs that run until they are killed are no tests. */
const TESTS = /\.(test|testsuite|fixture|e2e|engine)\.tsx?$|^e2e\/.*(?<!-process)\.ts$/;

// Also those that are not committed yet.
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
const files = listed.split('\n').filter((file) => TESTS.test(file) && existsSync(file));
const found = files.flatMap((file) => waitsIn(readFileSync(file, 'utf8')).map((said) => `${file}:${said}`));
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
