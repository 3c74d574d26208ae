import { KINDS } from './load.ts';
import type { Round } from './round.ts';

/** All failovers of one kind in one setting. */
export interface Line {
  failure: string;
  setting: string;
  rounds: Round[];
}

/**
 * The outcome of the failovers, and in seconds the longest that each way took to go on behind one, and that anything took
 * that was under way.
 */
export function failoverTable(lines: readonly Line[]): string[] {
  const counts = [
    'acknowledged',
    'lost',
    'torn',
    'executed',
    'charged',
    'events',
    'untold',
    'unsettled',
    'fromMemory',
  ] as const;
  const heads = [
    'failure',
    'setting',
    'failovers',
    ...counts,
    ...KINDS.map((kind) => `${kind} s`),
    'events s',
    'all s',
  ];
  const named = heads.map(
    (head) => ({ executed: 'executed twice', charged: 'charged twice', events: 'events twice' })[head] ?? head,
  );
  const rows = lines.map(({ failure, setting, rounds }) => [
    failure,
    setting,
    String(rounds.length),
    ...counts.map((count) => String(rounds.reduce((sum, round) => sum + sizeOf(round[count]), 0))),
    ...[...KINDS, 'events' as const].map((kind) => {
      return seconds(rounds.map(({ recovery }) => recovery[kind]));
    }),
    seconds(rounds.flatMap(({ stragglers }) => Object.values(stragglers))),
  ]);
  const widths = named.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [named, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
}

function sizeOf(count: number | readonly unknown[]): number {
  return typeof count === 'number' ? count : count.length;
}

function seconds(times: (number | undefined)[]): string {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? (Math.max(...known) / 1000).toFixed(1) : '';
}
