import type { DeliveryRow, ReceivedSummary } from 'oncekit/admin';

/** An event on its way to a destination, in words. */
export function sentCells(row: DeliveryRow): string[] {
  const { state, type, aggregate, sequence, destination, eventId, attempts, waitsFor, nextAttemptAt } = row;
  const next = waitsFor
    ? `waits for #${waitsFor.sequence}${waitsFor.state === 'dead' ? ', a dead letter' : ''}`
    : due(nextAttemptAt);
  return [
    state,
    destination,
    eventId,
    type,
    `${aggregate} #${sequence}`,
    tries(attempts),
    ago(row.createdAt),
    next,
    row.lastError ?? '',
  ];
}

/** A received event, in words. */
export function receivedCells(row: ReceivedSummary): string[] {
  const { state, source, eventId, attempts, receivedAt, nextAttemptAt, lastError } = row;
  return [state, source, eventId, tries(attempts), ago(receivedAt), due(nextAttemptAt), lastError ?? ''];
}

/** Rows with their columns one below the other. */
export function table(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names come from others: what would move the cursor, or begin another line, is not for the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (each) => (each === '\n' ? each : '?'));
}

function tries(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}

function ago(at: Date): string {
  return `${span(Date.now() - at.getTime())} old`;
}

function due(at: Date | null): string {
  if (!at) return '';
  const ms = at.getTime() - Date.now();
  return ms <= 0 ? 'due now' : `due in ${span(ms)}`;
}

function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}
