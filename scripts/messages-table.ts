import type { DeliveryRow, ReceivedSummary } from 'oncekit/admin';
import { span } from '../lib/cli/table.ts';

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
