import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from './pages.ts';

const read = (name: string) => readFileSync(path.join(root, 'docs', name), 'utf8');

const HOUR_S = 3600;
const WINDOWS_H = [1, 24, 7 * 24, 30 * 24];
const PER_SECOND: Record<string, number> = {
  '1 a minute': 1 / 60,
  '1 a second': 1,
  '10 a second': 10,
  '100 a second': 100,
  '1,000 a second': 1000,
};

/** The figures of `npm run bench -- scale`, as docs/performance.md tells them. */
function measured(): { uuid: number; signed: number } {
  const [, uuid, signed] =
    /^\| \*\*together\*\* \| \*\*(\d+)\*\* \| \*\*(\d+)\*\* \|$/m.exec(read('performance.md')) ?? [];
  return { uuid: Number(uuid), signed: Number(signed) };
}

function inUnits(bytes: number): string {
  const power = Math.floor(Math.log10(bytes) / 3);
  const value = bytes / 1000 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`;
}

test('the storage table is rate × retention × the measured bytes of a key', () => {
  const { uuid, signed } = measured();
  const page = read('choosing-the-window.md');
  expect(page).toContain(`takes ${signed} bytes with its indexes when it is minted and signed (forms), ${uuid} when`);
  expect(page).toContain(`× ${signed} bytes`);
  const rows = Object.entries(PER_SECOND).map(([name, rate]) => {
    const sizes = WINDOWS_H.map((hours) => inUnits(rate * (hours + 1) * HOUR_S * signed));
    return `| ${[name, ...sizes].join(' | ')} |`;
  });
  const table = page
    .slice(page.indexOf('| keys | 1 h |'))
    .split('\n')
    .slice(2, 2 + rows.length);
  expect(table).toEqual(rows);
});
