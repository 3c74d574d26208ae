import { hash } from 'node:crypto';
import { lengthPrefixed } from '../../../core/length-prefix.ts';
import type { KeyId } from '../../../core/scope.ts';
import { keyValues } from './read.ts';

/**
 * The number of the advisory lock that stands for a key. It arbitrates nothing, the unique index does: it is a ticket
 * that lets a claim see at once, without waiting, that another transaction is busy with the same key. A tiny
 * `lock_timeout` cannot tell that: it also strikes while the table is being extended for somebody else's row.
 *
 * Two keys that share a number merely wait for each other.
 */
export function ticketOf(id: KeyId): bigint {
  return hash('sha256', lengthPrefixed(...keyValues(id)), 'buffer').readBigInt64BE();
}

/**
 * The number of the advisory lock that stands for a thing: a ticket like a key's, drawn behind it. No tenant
 * is empty, so that no key's ticket is made of the same text.
 */
export function thingTicketOf({ tenant, operation }: Pick<KeyId, 'tenant' | 'operation'>, thing: string): bigint {
  return hash('sha256', lengthPrefixed('', tenant, operation, thing), 'buffer').readBigInt64BE();
}

/** The setting of a transaction that has drawn a ticket. */
export const TICKET = 'oncekit.ticket';

/** How long a claim that will not wait for others may be held up by the table itself, in milliseconds. */
const AT_ONCE_MS = 250;

/** Writes a wait as `lock_timeout`. PostgreSQL reads 0 as "for ever", the very opposite of what it means here. */
export function lockTimeout(waitMs: number): string {
  return `${Math.max(1, Math.round(waitMs > 0 ? waitMs : AT_ONCE_MS))}ms`;
}

/**
 * Draws the ticket: waits for it when `patient`, within `lock_timeout`, else tries once. It is released with the
 * transaction. `$ticket` and `$patient` are replaced by the statement's own parameters.
 */
export function drawTicket(ticket: string, patient: string): string {
  return `CASE WHEN ${patient}::boolean THEN pg_advisory_xact_lock(${ticket}::bigint) IS NOT NULL
                ELSE pg_try_advisory_xact_lock(${ticket}::bigint) END`;
}

/**
 * Draws the tickets of a key and of the thing that it is to hold: the key's first, always. It prevents this: two transactions
 * each have what the other one waits for. Whoever waits for a thing's ticket may have a key's; whoever has a thing's waits for
 * no ticket any more.
 */
export function drawTickets(ofKey: string, ofThing: string, patient: string): string {
  return `CASE WHEN (${drawTicket(ofKey, patient)}) THEN (${drawTicket(ofThing, patient)}) ELSE false END`;
}

/** Draws both without waiting, in the same order. */
export const tryBoth = (ofKey: string, ofThing: string) =>
  `CASE WHEN pg_try_advisory_xact_lock(${ofKey}::bigint) THEN pg_try_advisory_xact_lock(${ofThing}::bigint) ELSE false END`;
