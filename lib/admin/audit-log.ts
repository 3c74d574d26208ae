import { tracedLog } from '../engine/log.ts';
import type { NewAuditRecord } from '../store/oversight.ts';

/**
 * One thing that a person did, in the fields of a log line: the copy of its record that leaves the database at once. Holds
 * no payload, no result and no secret.
 */
export interface AuditLogEntry {
  level: 'info';
  /** `audit: ` and the type of the record, to search for. */
  msg: string;
  actor: string;
  /** Whose key, and which; left out where it is about none. */
  tenant?: string | undefined;
  principal?: string | undefined;
  operation?: string | undefined;
  key?: string | undefined;
  /** The event, and its destination or source, where it is about a message. */
  event?: string | undefined;
  peer?: string | undefined;
  detail?: Readonly<Record<string, string>> | undefined;
  /** The trace it happened in. */
  correlation_id?: string | undefined;
}

/** Where lines about what people did go: `createIdempotency`’s `log` fits. What it throws changes nothing. */
export type AuditLog = (entry: AuditLogEntry) => void | Promise<void>;

type Act = Pick<NewAuditRecord, 'type' | 'actor'> & Omit<AuditLogEntry, 'level' | 'msg' | 'actor' | 'correlation_id'>;

/** Writes the line of something that was done. */
export function auditLog(log: AuditLog | undefined): (act: Act) => void {
  const write = tracedLog(log);
  return ({ type, ...fields }) => write?.({ level: 'info', msg: `audit: ${type}`, ...fields });
}
