/** `npm run chart`: draws docs/charts from the committed results of `npm run bench -- first link`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chartFile, costChart, readResults } from './docs/cost-chart.ts';

for (const scheme of ['light', 'dark'] as const) {
  const file = chartFile(scheme);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, costChart(readResults(), scheme));
}
