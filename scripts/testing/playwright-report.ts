import type { Count, Failure } from './test-count.ts';
import { isWithout, PROGRAMS } from './without.ts';

interface Spec {
  title: string;
  file: string;
  line: number;
  ok: boolean;
  tests: { annotations?: { description?: string }[]; results: { status?: string; error?: { message?: string } }[] }[];
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

interface Report {
  /** One for each file. Its specs may stand in a fixture that it calls. */
  suites: (Suite<Spec> & { file: string })[];
  stats: { expected: number; unexpected: number; flaky: number; skipped: number };
}

/** The counts of a run on that build. */
export function countOf(report: Report, build: string): Count {
  const { expected, unexpected, flaky, skipped } = report.stats;
  // Playwright itself tries nothing again.
  const hasPassed = (suite: Suite<Spec>) =>
    [...specsIn(suite)].some(({ tests }) => tests.some(({ results }) => results.at(-1)?.status === 'passed'));
  const files = report.suites.filter(hasPassed).map(pathOf);
  const failures = [...failuresIn(report, build)];
  const lacking = report.suites.flatMap(lackingIn);
  return { passed: expected, failed: unexpected + flaky, skipped, failures, files, lacking };
}

/** Without a Chromium the report lists tests and has run none. */
function lackingIn(suite: Suite<Spec> & { file: string }): Count['lacking'] {
  const tests = [...specsIn(suite)].flatMap((spec) => spec.tests);
  return tests.flatMap(({ annotations = [] }) => {
    const needs = (program: string) => annotations.some(({ description }) => description === program);
    const program = isWithout('chromium') ? 'chromium' : PROGRAMS.find((one) => isWithout(one) && needs(one));
    return program ? [{ program, file: pathOf(suite) }] : [];
  });
}

/** Playwright names files from its folder of tests on. */
const pathOf = ({ file }: { file: string }) => `e2e/${file}`;

function* failuresIn({ suites }: Report, build: string): Generator<Failure> {
  for (const suite of suites) {
    for (const { title, file, line, ok, tests } of specsIn(suite)) {
      const errors = tests.flatMap(({ results }) => results).flatMap(({ error }) => error?.message ?? []);
      const why = errors.join('\n');
      if (!ok) yield { test: `${file}:${line} › ${title}`, why, file: { on: build, path: pathOf(suite) } };
    }
  }
}
