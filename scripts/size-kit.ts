/**
 * `npm run size:kit`, a part of `npm run check`: the kit is not larger than its last entry in `kit-size.json` allows. A change
 * that makes it larger appends an entry, with its reason; `-- --because "…"` does that, up to the ceiling.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Allowance, CEILING, excessOf, growthOf, measureKit } from './package/kit-size.ts';

const FILE = fileURLToPath(new URL('./package/kit-size.json', import.meta.url));
const allowances: Allowance[] = JSON.parse(readFileSync(FILE, 'utf8'));
const size = measureKit(fileURLToPath(new URL('../lib', import.meta.url)));
for (const [name, many] of Object.entries(size)) console.log(`${String(many).padStart(6)}  ${name}`);

const at = process.argv.indexOf('--because');
const why = at === -1 ? undefined : process.argv[at + 1];
const excess = excessOf(size, CEILING);
if (excess.length > 0) {
  for (const line of excess) console.error(line);
  console.error('Take something out of the kit. No reason allows more.');
  process.exitCode = 1;
} else if (why) {
  writeFileSync(FILE, `${JSON.stringify([...allowances, { ...size, why }], null, 2)}\n`);
} else {
  const growth = growthOf(size, allowances);
  for (const line of growth) console.error(line);
  if (growth.length > 0) {
    console.error('Make it smaller, or say why it grows: npm run size:kit -- --because "…"');
    process.exitCode = 1;
  }
}
