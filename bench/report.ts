/** What one benchmark found, as ratios within one run. */
export interface Report {
  name: string;
  rows: Row[];
}

interface Row {
  figure: string;
  value: string;
  /** What the figure must reach, where something is demanded of it. */
  must?: string;
  met?: boolean;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] =
    sorted.length % 2 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1);
  return (low + high) / 2;
}

export function markdown({ name, rows }: Report): string {
  const line = ({ figure, value, must = '', met }: Row) =>
    `| ${figure} | ${value} | ${must} | ${met === undefined ? '' : met ? 'yes' : 'NO'} |`;
  return [`## ${name}`, '', '| figure | reached | must | met |', '|---|---|---|---|', ...rows.map(line), ''].join('\n');
}
