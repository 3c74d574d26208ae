import { type OutgoingEvent, PublishError } from './publisher.ts';

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

/** The subject of an event. Types may hold dots that no subject can. */
export function subjectOf(event: OutgoingEvent, subject: string | ((event: OutgoingEvent) => string)): string {
  const to = typeof subject === 'string' ? `${subject}.${event.type}` : subject(event);
  if (isSubject(to)) return to;
  throw new PublishError(`${JSON.stringify(to)} is no subject that NATS takes.`, { next: 'give-up' });
}

export function isSubject(text: string): boolean {
  return SUBJECT.test(text);
}

/** The event's own headers, and beside them, with precedence, what says which event it is. */
export function headersOf<H extends { set(name: string, value: string): void }>(event: OutgoingEvent, headers: H): H {
  const own = {
    [NAMES.id]: event.id,
    [NAMES.type]: event.type,
    // Any text may be an aggregate's name. A line break in it would begin another header.
    [NAMES.aggregate]: event.aggregate.replace(/[^!-$&-~]+/gu, encodeURIComponent),
    [NAMES.sequence]: String(event.sequence),
    [NAMES.createdAt]: event.createdAt.toISOString(),
    [NAMES.derivedKey]: event.derivedKey,
  };
  for (const [name, value] of Object.entries({ ...event.headers, ...own })) headers.set(name, value);
  return headers;
}

/** Reads what `natsStream` has sent; a `JsMsg` of `@nats-io/jetstream` fits. Undefined: it comes from somebody else. */
export function streamedEvent(message: {
  headers?: { get(name: string): string } | undefined;
  string(): string;
}): StreamedEvent | undefined {
  const told = (name: keyof typeof NAMES) => message.headers?.get(NAMES[name]) ?? '';
  const event = {
    id: told('id'),
    type: told('type'),
    aggregate: decoded(told('aggregate')),
    sequence: Number(told('sequence')),
    payload: message.string(),
    derivedKey: told('derivedKey'),
    createdAt: new Date(told('createdAt')),
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
