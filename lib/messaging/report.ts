import { printable } from '../core/printable.ts';

/** News for a log or an alarm. Holds no payload and no result. */
export type Report =
  /** An attempt failed and is repeated later; `dead`: it is not. `blocks`: nothing more of its aggregate goes out. */
  | { kind: 'failed' | 'dead'; error: unknown; attempt: number; blocks: boolean; event: EventName }
  /** The destination wants nothing more. Its events wait until a person resumes it. */
  | { kind: 'stopped'; error: unknown; event: EventName }
  /** Another relay has taken the event over: this one took longer than its lease. It may have gone out twice. */
  | { kind: 'lost'; event: EventName }
  /** Received under an id that is known, with another payload. The first one counts. */
  | { kind: 'mismatch'; event: EventName }
  /** The effect of a received event failed; `dead`: it is not tried any more. */
  | { kind: 'not-processed' | 'not-processed-dead'; error: unknown; attempt: number; event: EventName };

/** Which event a report is about. */
export interface EventName {
  eventId: string;
  /** The destination or the source. */
  peer: string;
  aggregate?: string;
  type?: string;
}

/** Is told what became of events. What it throws changes nothing. */
export type OnReport = (report: Report) => void;

const NEEDS_A_PERSON: Partial<Record<Report['kind'], string>> = {
  dead: 'could not be delivered and is a dead letter',
  stopped: 'met a destination that wants no more events; they wait until it is resumed',
  mismatch: 'came again with another payload; the first one counts',
  'not-processed-dead': 'could not be processed and is a dead letter',
};

/** A line on the console for what needs a person. What is tried again shows in its row. */
function logReport(report: Report): void {
  const words = NEEDS_A_PERSON[report.kind];
  if (!words) return;
  const { eventId, peer, type } = report.event;
  const name = 'error' in report && report.error instanceof Error ? `: ${report.error.name}` : '';
  console.error(printable(`[oncekit] The event ${eventId}${type ? ` (${type})` : ''} of ${peer} ${words}${name}`));
}

/** A log that fails, now or later, must not change the fate of what it reports. */
export function quietly(report: OnReport = logReport): OnReport {
  return (what) => {
    new Promise((resolve) => resolve(report(what))).catch(() => {});
  };
}
