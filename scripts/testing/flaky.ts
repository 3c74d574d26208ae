import { COUNTED } from './effects-mark.ts';
import { type Count, type Failure, inShort, listOf, type TestFile } from './test-count.ts';

/** More flaky files in one run, and open lines in docs/flaky.md, than these are a failure. */
const MOST_FILES = 3;
const MOST_OPEN_LINES = 4;

/** A run whose failed files have run once more, each alone. */
export interface Judged {
  count: Count;
  /** Failures of the first run whose file passed in the second. */
  flaky: Failure[];
}

/**
 * Runs each failed file once more. If all of it passes, its failures were flaky and count as passed. Never forgiven: an
 * error outside of tests, a file in which effects were counted wrongly, and failures in more than three files.
 */
export async function judge(count: Count, runAgain: (file: TestFile) => Promise<Count>): Promise<Judged> {
  const files = new Map<string, Failure[]>();
  for (const failure of count.failures) {
    const name = JSON.stringify(failure.file ?? null);
    files.set(name, [...(files.get(name) ?? []), failure]);
  }
  const judged: Judged = { count: { ...count, failures: [], files: [...count.files] }, flaky: [] };
  for (const failures of files.values()) {
    const file = failures[0]?.file;
    if (!file || files.size > MOST_FILES || failures.some(isOfEffects)) {
      judged.count.failures.push(...failures);
      continue;
    }
    const again = await runAgain(file);
    if (again.failed === 0 && again.passed > 0) {
      judged.flaky.push(...failures);
      judged.count.passed += failures.length;
      judged.count.failed -= failures.length;
      judged.count.files.push(...again.files);
    } else {
      const second = new Map(again.failures.map(({ test, why }) => [test, why]));
      const inSecond = (test: string) => second.get(test) ?? 'passed, but others of its file did not';
      judged.count.failures.push(...failures.map((failure) => ({ ...failure, again: inSecond(failure.test) })));
    }
  }
  return judged;
}

const isOfEffects = ({ why }: Failure) => why.includes(COUNTED);

/** A list that is too long is a failure of its own: `page` is the text of docs/flaky.md. */
export function withOpenLines(count: Count, page: string): Count {
  const open = page.split('\n').filter((line) => line.startsWith('- [ ] ')).length;
  if (open <= MOST_OPEN_LINES) return count;
  const failure = { test: 'docs/flaky.md', why: `${open} open lines. Mend these tests before anything else.` };
  return { ...count, failed: count.failed + 1, failures: [...count.failures, failure] };
}

/** The lines to print of flaky tests: what was seen, and what is to be done. */
export function flakyLines(flaky: readonly Failure[], date: string): string[] {
  if (flaky.length === 0) return [];
  const open = flaky.map(({ test, why }) => `  - [ ] ${date} ${test}: ${inShort(why)}`);
  return [
    ...listOf('Flaky, failed and then passed when the file ran again, alone:', flaky),
    ...['', 'Add to docs/flaky.md, and mend it before other work:', ...open],
  ];
}
