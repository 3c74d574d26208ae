/**
 * `npm run chart`: what an order costs in each way, as the README shows it, from the committed
 * `bench/results/first-link.json`. That file is what `npm run bench -- first link` writes.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../bench/report.ts';

const RESULTS = new URL('../../bench/results/first-link.json', import.meta.url);
const FOLDER = new URL('../../docs/charts/', import.meta.url);

export interface Results {
  where: string;
  reports: Pick<Report, 'name' | 'rows'>[];
}

const COLORS = {
  light: { ink: '#1b1a18', muted: '#5c5750', line: '#dedad2', floor: '#8c857a', kit: '#0b5d57', hand: '#a3221a' },
  dark: { ink: '#f0efea', muted: '#aaa79e', line: '#353833', floor: '#7d8078', kit: '#6ed3c6', hand: '#ffa79c' },
} as const;
export type Scheme = keyof typeof COLORS;
type Color = keyof (typeof COLORS)['light'];

/** The bars of each group, in this order. The floor is what the others are ratios to. */
const WAYS: { name: string; color: Color }[] = [
  { name: 'without a key', color: 'floor' },
  { name: 'with oncekit', color: 'kit' },
  { name: 'a key table by hand', color: 'hand' },
];

/** Each with the figures of the ways behind the floor, by the names that the benchmark gives them. */
const GROUPS = [
  {
    title: 'Processor time, Node',
    report: /^First execution/,
    figures: ["first execution, Node's CPU per operation", "Node's CPU of the obvious one"],
  },
  {
    title: 'Processor time, PostgreSQL',
    report: /^First execution/,
    figures: ["first execution, PostgreSQL's CPU per operation", "PostgreSQL's CPU of the obvious one"],
  },
  {
    title: 'Time, 2 ms from the database',
    report: /^Latency over a link of 2 ms/,
    figures: ['first execution', 'the obvious one (create key, create order, update key)'],
  },
];

const WIDTH = 880;
const LEFT = 176;
const RIGHT = 60;
const BAR = 18;
const GAP = 4;
const TOP = 56;
const HEAD = 26;
const GROUP = HEAD + WAYS.length * (BAR + GAP) + 14;
const FONT = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"';

/** The chart as SVG. Throws where the results lack a figure. */
export function costChart({ where, reports }: Results, scheme: Scheme): string {
  const color = COLORS[scheme];
  const groups = GROUPS.map(({ title, report, figures }) => {
    const rows = reports.find(({ name }) => report.test(name))?.rows ?? [];
    const values = figures.map((figure) => {
      const value = Number(rows.find((row) => row.figure === figure)?.value);
      if (!(value > 0)) throw new Error(`The results have no "${figure}". Run: npm run bench -- first link`);
      return value;
    });
    return { title, values: [1, ...values] };
  });
  const longest = Math.max(...groups.flatMap(({ values }) => values));
  const perUnit = (WIDTH - LEFT - RIGHT) / longest;
  const height = TOP + groups.length * GROUP + 20;
  const floorAt = LEFT + perUnit;
  const text = (x: number, y: number, words: string, look: string) => `<text x="${x}" y="${y}" ${look}>${words}</text>`;

  const bars = groups.flatMap(({ title, values }, index) => {
    const top = TOP + index * GROUP;
    return [
      text(0, top + 14, title, `font-size="14" font-weight="600" fill="${color.ink}"`),
      ...WAYS.flatMap(({ name, color: of }, way) => {
        const value = values[way] ?? 0;
        const y = top + HEAD + way * (BAR + GAP);
        const long = (value * perUnit).toFixed(1);
        return [
          text(LEFT - 10, y + 13, name, `font-size="13" text-anchor="end" fill="${color.muted}"`),
          `<rect x="${LEFT}" y="${y}" width="${long}" height="${BAR}" rx="3" fill="${color[of]}"/>`,
          text(
            LEFT + Number(long) + 8,
            y + 13,
            value.toFixed(2),
            `font-size="13" font-weight="600" fill="${color.ink}" style="font-variant-numeric:tabular-nums"`,
          ),
        ];
      }),
    ];
  });
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title" ${FONT}>`,
    '<title id="title">What one order costs in each way, as a multiple of the same order without a key</title>',
    text(0, 18, 'What one order costs', `font-size="17" font-weight="600" fill="${color.ink}"`),
    text(
      0,
      38,
      'A multiple of the same order without a key. Shorter is cheaper.',
      `font-size="13" fill="${color.muted}"`,
    ),
    `<line x1="${floorAt.toFixed(1)}" x2="${floorAt.toFixed(1)}" y1="${TOP}" y2="${height - 26}" stroke="${color.line}"/>`,
    ...bars,
    text(0, height - 6, where.trim(), `font-size="12" fill="${color.muted}"`),
    '</svg>',
  ].join('\n')}\n`;
}

/** The path of the chart. */
export const chartFile = (scheme: Scheme): string => fileURLToPath(new URL(`cost-${scheme}.svg`, FOLDER));

/** The measurement, as it is committed. */
export const readResults = (): Results => JSON.parse(readFileSync(RESULTS, 'utf8'));
