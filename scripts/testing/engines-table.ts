import { type Suite, specsIn } from './playwright-report.ts';

interface Annotation {
  type: string;
  description?: string;
}

export interface EnginesSpec {
  title: string;
  tests: { projectName: string; status: 'expected' | 'unexpected' | 'flaky' | 'skipped'; annotations: Annotation[] }[];
}

const MARKS = { expected: '✓', unexpected: '✗', flaky: '✗', skipped: '—' };

/**
 * Playwright's JSON report of the tests in three engines as lines of text: a row for each test, a column for each engine
 * with its version, in each cell whether it passed and what it has noted; below, why some cells cannot be.
 */
export function enginesTable(report: Suite<EnginesSpec>): string[] {
  const titles = new Map<string, string>();
  const rows = new Map<string, Map<string, string>>();
  const reasons: string[] = [];
  for (const { title, tests } of specsIn(report)) {
    for (const { projectName, status, annotations } of tests) {
      const of = (type: string) => annotations.filter((one) => one.type === type).map((one) => one.description ?? '');
      const [engine] = of('engine');
      if (engine || !titles.has(projectName)) titles.set(projectName, engine ?? projectName);
      const cells = rows.get(title) ?? new Map<string, string>();
      rows.set(title, cells.set(projectName, [MARKS[status], ...new Set(of('note'))].join(' ')));
      if (status === 'skipped') reasons.push(`— ${title}, ${projectName}: ${of('skip').join(' ')}`);
    }
  }
  if (rows.size === 0) return [];

  const columns = [...titles.keys()];
  const lines = [
    ['', ...titles.values()],
    ...[...rows].map(([title, cells]) => [title, ...columns.map((name) => cells.get(name) ?? '?')]),
  ];
  const widths = ['', ...columns].map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const drawn = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...drawn, ...new Set(reasons)];
}
