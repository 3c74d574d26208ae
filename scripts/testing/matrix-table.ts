import { type Suite, specsIn } from './playwright-report.ts';

/** A test of the matrix describes itself so, as JSON in its annotation of the type `matrix` (e2e/matrix.e2e.ts). */
export interface Cell {
  row: string;
  javaScript: boolean;
  /** Why the row has no cell without JavaScript. */
  why?: string;
}

export interface MatrixSpec {
  ok: boolean;
  tests: { annotations: { type: string; description?: string }[] }[];
}

/** A build, and Playwright's JSON report of the tests that ran on it. */
export interface Run<S = MatrixSpec> {
  build: string;
  report: Suite<S>;
}

/**
 * The matrix as lines of text: a row for each thing that happens, two columns for each build, and below it why some
 * cells cannot be. Nothing of a build on which no test of the matrix has run; a question mark for a single one that has not.
 */
export function matrixTable(all: Run[]): string[] {
  const runs = all.filter(({ report }) => !cellsIn(report).next().done);
  const marks = new Map<string, string[]>();
  const reasons = new Map<string, string>();
  for (const [index, { report }] of runs.entries()) {
    for (const { cell, ok } of cellsIn(report)) {
      const row = marks.get(cell.row) ?? runs.flatMap(() => ['?', '?']);
      row[2 * index + (cell.javaScript ? 0 : 1)] = ok ? '✓' : '✗';
      marks.set(cell.row, row);
      if (cell.why) reasons.set(cell.row, cell.why);
    }
  }
  for (const [name, row] of marks) {
    if (reasons.has(name)) for (const index of runs.keys()) row[2 * index + 1] = '—';
  }
  if (marks.size === 0) return [];

  const columns = runs.flatMap(({ build }) => [build, 'no JS']);
  const width = Math.max(...[...marks.keys()].map(({ length }) => length));
  const line = (name: string, cells: string[]) =>
    [name.padEnd(width), ...cells.map((cell, index) => cell.padEnd(columns[index]?.length ?? 0))].join('  ').trimEnd();
  return [
    line('', columns),
    ...[...marks].map(([name, row]) => line(name, row)),
    ...[...reasons].map(([name, why]) => `— ${name}: ${why}`),
  ];
}

function* cellsIn(report: Suite<MatrixSpec>): Generator<{ cell: Cell; ok: boolean }> {
  for (const { ok, tests } of specsIn(report)) {
    const description = tests[0]?.annotations.find(({ type }) => type === 'matrix')?.description;
    if (description) yield { cell: JSON.parse(description), ok };
  }
}
