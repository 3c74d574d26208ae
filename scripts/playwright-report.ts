import type { Count, Failure } from './test-count.ts';

interface Spec {
  title: string;
  file: string;
  line: number;
  ok: boolean;
  tests: { results: { error?: { message?: string } }[] }[];
}

interface Suite {
  suites?: Suite[];
  specs?: Spec[];
}

/** What is read of the report of Playwright's reporter `json`. */
export interface PlaywrightReport extends Suite {
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
}

export function countOf(report: PlaywrightReport): Count {
  const { expected, unexpected, flaky, skipped } = report.stats;
  // A test that passes only when tried again has failed once too often: nothing is tried again here.
  return { passed: expected, failed: unexpected + flaky, skipped, failures: [...failuresIn(report)] };
}

function* failuresIn({ suites = [], specs = [] }: Suite): Generator<Failure> {
  for (const { title, file, line, ok, tests } of specs) {
    const error = tests.flatMap(({ results }) => results).find((result) => result.error)?.error;
    if (!ok) yield { test: `${file}:${line} › ${title}`, why: error?.message ?? '' };
  }
  for (const suite of suites) yield* failuresIn(suite);
}
