import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { chartFile, costChart, readResults } from './cost-chart.ts';

describe.each(['light', 'dark'] as const)('the %s chart', (scheme) => {
  test('is what `npm run chart` draws from the committed results', () => {
    expect(readFileSync(chartFile(scheme), 'utf8')).toBe(costChart(readResults(), scheme));
  });
});

test('shows every measured figure, each bar as long as its figure says', () => {
  const svg = costChart(readResults(), 'light');
  const bars = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"[^>]*>\n<text [^>]*>([\d.]+)</g)];
  expect(bars).toHaveLength(9);
  const [floor] = bars;
  for (const [, width, shown] of bars) {
    expect(Number(width) / Number(floor?.[1])).toBeCloseTo(Number(shown), 2);
  }
});

test('a figure that was not measured is missed', () => {
  const results = readResults();
  const rows = results.reports.flatMap((report) => report.rows);
  const without = rows.filter(({ figure }) => !figure.startsWith("Node's CPU of the obvious"));
  expect(() => costChart({ ...results, reports: [{ name: 'First execution', rows: without }] }, 'dark')).toThrow(
    'npm run bench -- first link',
  );
});
