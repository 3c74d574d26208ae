import type { Fingerprint } from '../core/fingerprint.ts';
import type { KeyStateOrAbsent } from '../core/key-state.ts';
import { currentTraceId } from '../telemetry/span.ts';

/**
 * One thing that happened to a key, in the fields of a log line. Holds no payload, no result and no secret: of the payload
 * only the first characters of its keyed hash, which tell two apart and nothing else.
 */
export interface LogEntry {
  /** `debug`: a duplicate was answered. `info`: as planned. `warn`: somebody may want to look. `error`: somebody must. */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** The event, in words that stay the same, to search for. */
  msg: string;
  operation: string;
  key: string;
  fingerprint?: string | undefined;
  /** How often the client has sent it, or an executor has taken it up. */
  attempt?: number | undefined;
  from_state?: KeyStateOrAbsent | undefined;
  to_state?: KeyStateOrAbsent | undefined;
  /** The code of a refusal or of an error. */
  code?: string | undefined;
  /** Names this one refusal: the `instance` of its problem document. */
  instance?: string | undefined;
  /** The error's name and code alone: its message may hold what was sent. */
  error?: string | undefined;
  /** The message of an error of the kit's own, which holds nothing that was sent. */
  detail?: string | undefined;
  /** The trace it happened in. */
  correlation_id?: string | undefined;
}

export type Log = (entry: LogEntry) => void;

/** The log with the trace of each entry, that never throws: it must not change the fate of what it reports. */
export function tracedLog<Entry extends object>(
  log: ((entry: Entry) => void | Promise<void>) | undefined,
): ((entry: Entry) => void) | undefined {
  return (
    log &&
    ((entry) => {
      const correlationId = currentTraceId();
      new Promise((resolve) => resolve(log(correlationId ? { ...entry, correlation_id: correlationId } : entry))).catch(
        () => {},
      );
    })
  );
}

/** How much of a fingerprint a log may hold. */
export function fingerprintPrefix(fingerprint: Fingerprint | null | undefined): string | undefined {
  return fingerprint ? Buffer.from(fingerprint.hash.subarray(0, 4)).toString('hex') : undefined;
}
