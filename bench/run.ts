/** `npm run bench`: a database of its own, every benchmark in turn, markdown and JSON into bench/results/. */
import { mkdir, writeFile } from 'node:fs/promises';
import setup from '../scripts/vitest-global-setup.ts';
import { messages } from './messages.ts';
import { otherKeys } from './other-keys.ts';
import { reaper } from './reaper.ts';
import { markdown, type Report } from './report.ts';

const benchmarks = [otherKeys, reaper, messages];

const release = await setup();
const reports: Report[] = [];
try {
  for (const benchmark of benchmarks) {
    console.error(`Running ${benchmark.name} …`);
    const report = await benchmark();
    console.log(markdown(report));
    reports.push(report);
  }
} finally {
  await release();
}
const results = new URL('./results/', import.meta.url);
await mkdir(results, { recursive: true });
await writeFile(new URL('latest.md', results), reports.map(markdown).join('\n'));
await writeFile(new URL('latest.json', results), `${JSON.stringify(reports, null, 2)}\n`);
if (reports.some(({ rows }) => rows.some(({ met }) => met === false))) process.exitCode = 1;
