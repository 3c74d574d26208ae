import { expect, test } from 'vitest';
import { enginesTable } from './engines-table.ts';

const note = (description: string) => ({ type: 'note', description });
const ran = (projectName: string, status: 'expected' | 'unexpected' | 'flaky' | 'skipped', ...notes: object[]) => ({
  projectName,
  status,
  annotations: [{ type: 'engine', description: `${projectName} 1.0` }, ...notes] as { type: string }[],
});

test('a row for each test, a column for each engine with its version, what was noted, and why a cell cannot be', () => {
  const cannot = {
    projectName: 'webkit',
    status: 'skipped' as const,
    annotations: [{ type: 'skip', description: 'no' }],
  };
  const specs = [
    { title: 'double click', tests: [ran('firefox', 'expected')] },
    { title: 'lost', tests: [ran('firefox', 'expected', note('2 POSTs')), ran('webkit', 'flaky')] },
    { title: 'private', tests: [ran('firefox', 'unexpected'), cannot] },
  ];
  expect(enginesTable({ suites: [{ specs }] })).toEqual([
    '              firefox 1.0  webkit 1.0',
    'double click  ✓            ?',
    'lost          ✓ 2 POSTs    ✗',
    'private       ✗            —',
    '— private, webkit: no',
  ]);
});

test('the engines of tests that only some have stand side by side', () => {
  const specs = ['firefox', 'webkit'].map((name) => ({ title: 'reload', tests: [ran(name, 'expected')] }));
  expect(enginesTable({ specs })).toEqual(['        firefox 1.0  webkit 1.0', 'reload  ✓            ✓']);
});

test('nothing when no test has run', () => {
  expect(enginesTable({ suites: [] })).toEqual([]);
});
