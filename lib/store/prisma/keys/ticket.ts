import { hash } from 'node:crypto';
import { lengthPrefixed } from '../../../core/length-prefix.ts';
import type { KeyId } from '../../../core/scope.ts';

/**
 * The number of the advisory lock that stands for a key. It arbitrates nothing, the unique index does: it is a ticket
 * that lets a claim see at once, without waiting, that another transaction is busy with the same key. A tiny
 * `lock_timeout` cannot tell that: it also strikes while the table is being extended for somebody else's row.
 *
 * Two keys that share a number merely wait for each other.
 */
export function ticketOf({ tenant, principal, operation, key }: KeyId): bigint {
  return hash('sha256', lengthPrefixed(tenant, principal, operation, key), 'buffer').readBigInt64BE();
}

/** The setting of a transaction that has drawn a ticket. */
export const TICKET = 'oncekit.ticket';

/** How long a claim that will not wait for others may be held up by the table itself, in milliseconds. */
const IMPATIENT_MS = 250;

/** `lock_timeout` for a wait. PostgreSQL reads 0 as "for ever", the very opposite of what it means here. */
export function lockTimeout(waitMs: number): string {
  return `${Math.max(1, Math.round(waitMs > 0 ? waitMs : IMPATIENT_MS))}ms`;
}

/**
 * Draws the ticket: waits for it when `patient`, within `lock_timeout`, else tries once. Released with the
 * transaction. `$ticket` and `$patient` are replaced by the statement's own parameters.
 */
export function drawTicket(ticket: string, patient: string): string {
  return `CASE WHEN ${patient}::boolean THEN pg_advisory_xact_lock(${ticket}::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock(${ticket}::bigint) END`;
}
