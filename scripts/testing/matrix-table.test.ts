import { expect, test } from 'vitest';
import { matrixTable } from './matrix-table.ts';

const spec = (ok: boolean, cell?: object) => ({
  ok,
  tests: [{ annotations: cell ? [{ type: 'matrix', description: JSON.stringify(cell) }] : [] }],
});

test('a row for each thing that happens, two columns for each build, and why a cell cannot be', () => {
  const click = { row: 'double click', javaScript: true };
  const held = { row: 'before hydration', javaScript: true, why: 'nothing hydrates' };
  const first = { suites: [{ suites: [{ specs: [spec(true, click), spec(true, held), spec(true)] }] }] };
  const second = { suites: [{ specs: [spec(false, click), spec(true, { ...click, javaScript: false })] }] };
  expect(
    matrixTable([
      { build: 'default', report: first },
      { build: 'other', report: second },
    ]),
  ).toEqual([
    '                  default  no JS  other  no JS',
    'double click      ✓        ?      ✗      ✓',
    'before hydration  ✓        —      ?      —',
    '— before hydration: nothing hydrates',
  ]);
});

test('nothing when no test of the matrix has run', () => {
  expect(matrixTable([{ build: 'default', report: { suites: [{ specs: [spec(true)] }] } }])).toEqual([]);
});

test('no columns for a build on which no test of the matrix has run', () => {
  const matrix = { specs: [spec(true, { row: 'double click', javaScript: true })] };
  const runs = [
    { build: 'default', report: { suites: [matrix] } },
    { build: 'other', report: { suites: [{ specs: [spec(true)] }] } },
  ];
  expect(matrixTable(runs)[0]?.trim()).toBe('default  no JS');
});
