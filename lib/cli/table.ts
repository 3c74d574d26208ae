import { printable } from '../core/printable.ts';

/** Rows with their columns one below the other. No cell begins a line of its own. */
export function table(cells: readonly string[][]): string {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  const padded = (row: string[]) => row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join('  ');
  return rows.map((row) => padded(row).trimEnd()).join('\n');
}

/** How long ago, or in how long: `3 min ago`, `in 2 h`. */
export function when(at: Date | null): string {
  if (!at) return '';
  const ms = at.getTime() - Date.now();
  return ms > 0 ? `in ${span(ms)}` : `${span(-ms)} ago`;
}

/** A length of time, as short as it can be said: `3 min`. None is less than nothing: clocks differ. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** `1 file`, `2 files`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
