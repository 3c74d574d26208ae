import type { Count, Failure } from './test-count.ts';

interface Spec {
  title: string;
  file: string;
  line: number;
  ok: boolean;
  tests: { results: { error?: { message?: string } }[] }[];
}

/** Part of the report of Playwright's reporter `json`, with what is read of its tests. */
export interface Suite<S> {
  suites?: Suite<S>[];
  specs?: S[];
}

export function* specsIn<S>({ suites = [], specs = [] }: Suite<S>): Generator<S> {
  yield* specs;
  for (const suite of suites) yield* specsIn(suite);
}

interface Report extends Suite<Spec> {
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
}

export function countOf(report: Report): Count {
  const { expected, unexpected, flaky, skipped } = report.stats;
  // A test that passes only when tried again has failed once too often: nothing is tried again here.
  return { passed: expected, failed: unexpected + flaky, skipped, failures: [...failuresIn(report)] };
}

function* failuresIn(report: Report): Generator<Failure> {
  for (const { title, file, line, ok, tests } of specsIn(report)) {
    const error = tests.flatMap(({ results }) => results).find((result) => result.error)?.error;
    if (!ok) yield { test: `${file}:${line} › ${title}`, why: error?.message ?? '' };
  }
}
