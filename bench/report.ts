/** The findings of one benchmark, as ratios within one run. */
export interface Report {
  name: string;
  rows: Row[];
}

export interface Row {
  figure: string;
  value: string;
  /** The middle half of the rounds whose median `value` is. */
  spread?: string;
  /** The bound of the figure, where something is demanded of it. */
  must?: string;
  met?: boolean;
  /** The floor measured against itself, in the same rounds: what this machine's noise alone makes of 1. */
  floor?: string;
  /** One number a round, for those who want to judge by themselves. In the JSON alone. */
  rounds?: number[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] =
    sorted.length % 2 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1);
  return (low + high) / 2;
}

export function markdown({ name, rows }: Report): string {
  const line = ({ figure, value, spread = '', must = '', met, floor = '' }: Row) =>
    `| ${figure} | ${value} | ${spread} | ${must} | ${met === undefined ? '' : met ? 'yes' : 'NO'} | ${floor} |`;
  return [
    `## ${name}`,
    '',
    '| figure | reached | rounds | must | met | floor against itself |',
    '|---|---|---|---|---|---|',
    ...rows.map(line),
    '',
  ].join('\n');
}

/** Everything that is demanded, from all reports, in one table. */
export function demands(reports: readonly Report[]): Report {
  return { name: 'Must reach', rows: reports.flatMap(({ rows }) => rows.filter(({ must }) => must !== undefined)) };
}
