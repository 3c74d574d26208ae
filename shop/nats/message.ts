import type { JsMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { type OutgoingEvent, PublishError } from 'oncekit/messaging';

/** An event as a consumer of the stream gets it. Trace context and other headers are the message's own. */
export type StreamedEvent = Omit<OutgoingEvent, 'headers'>;

const NAMES = {
  id: 'event-id',
  type: 'event-type',
  aggregate: 'event-aggregate',
  sequence: 'event-sequence',
  createdAt: 'event-time',
  derivedKey: 'idempotency-key',
} as const;

/** Dots divide a subject; between them there must be something, and no wildcard or space. */
const SUBJECT = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

export function isSubject(text: string): boolean {
  return SUBJECT.test(text);
}

/** The subject of an event. Types may hold dots that no subject can. */
export function subjectOf({ type }: OutgoingEvent, prefix: string): string {
  const subject = `${prefix}.${type}`;
  if (isSubject(subject)) return subject;
  throw new PublishError(`${JSON.stringify(subject)} is no subject that NATS takes.`, { next: 'give-up' });
}

/** The event's own headers, and beside them, with precedence, what says which event it is. */
export function headersOf(event: OutgoingEvent): MsgHdrs {
  const own = {
    [NAMES.id]: event.id,
    [NAMES.type]: event.type,
    // Any text may be an aggregate's name. A line break in it would begin another header.
    [NAMES.aggregate]: event.aggregate.replace(/[^!-$&-~]+/gu, encodeURIComponent),
    [NAMES.sequence]: String(event.sequence),
    [NAMES.createdAt]: event.createdAt.toISOString(),
    [NAMES.derivedKey]: event.derivedKey,
  };
  const all = headers();
  for (const [name, value] of Object.entries({ ...event.headers, ...own })) all.set(name, value);
  return all;
}

/** Reads what `natsPublisher` has sent. Undefined: it comes from somebody else. */
export function streamedEvent(message: Pick<JsMsg, 'headers' | 'string'>): StreamedEvent | undefined {
  const header = (name: keyof typeof NAMES) => message.headers?.get(NAMES[name]) ?? '';
  const event = {
    id: header('id'),
    type: header('type'),
    aggregate: decoded(header('aggregate')),
    sequence: Number(header('sequence')),
    payload: message.string(),
    derivedKey: header('derivedKey'),
    createdAt: new Date(header('createdAt')),
  };
  const isOurs = event.id && event.type && event.aggregate && event.sequence >= 1 && event.createdAt.getTime() > 0;
  return isOurs ? event : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
