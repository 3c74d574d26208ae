import { jsonText } from '../core/data.ts';
import { IdempotencyError, MAX_RESULT_BYTES } from '../core/errors.ts';
import { uuidV7 } from '../core/issued-key.ts';
import { derivedKey, derivedUuid } from '../core/key.ts';
import type { Scope } from '../core/scope.ts';
import type { NewEvent } from '../store/messages.ts';

/** An event as the app announces it. */
export interface EventToSend {
  /** `order.paid`: letters, digits, `.`, `_` and `-`. */
  type: string;
  /** The thing whose events must keep their order, such as `order:<id>`. Events of others go out beside it. */
  aggregate: string;
  /** Sent as JSON, at most 256 KiB: a BigInt as text, a Map or a Set as a list. */
  payload: unknown;
  /** Sent along. Names in lower case. */
  headers?: Record<string, string>;
}

/** The intent that the event comes from: a handler's or a phases function's context fits. */
export interface Origin {
  scope: Scope;
  key: string;
  /**
   * Names this event among those that the intent announces. Default: its type and aggregate. Name it where the aggregate's
   * name is not the same in every execution, such as a random id: the event's id follows from the intent and this.
   */
  step?: string;
}

/** An event that cannot be sent as it is. Thrown by `enqueue`, so that the transaction rolls back. */
export class EventError extends IdempotencyError {
  override readonly name = 'EventError';
}

/** @throws EventError unless it can be sent so */
function assertFit(isFit: boolean, message: string, facts: ConstructorParameters<typeof EventError>[1]): asserts isFit {
  if (!isFit) throw new EventError(message, facts);
}

const MAX_HEADERS_BYTES = 8192;
/** `traceparent` has 55 bytes, `tracestate` at most 512 that anybody must pass on. */
const MAX_TRACE_BYTES = 2048;
const TYPE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** Names of HTTP fields, in lower case. */
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Visible ASCII and spaces between. A line break would begin another header. */
const HEADER_VALUE = /^[!-~]([ -~]*[!-~])?$/;
/** Publishers set these, and brokers do what some of them say; an app's headers must not take their place. */
const RESERVED =
  /^(webhook-.*|nats-.*|content-.*|host|connection|keep-alive|upgrade|expect|te|trailer|transfer-encoding|proxy-.*|user-agent|idempotency-key)$/;

interface HowToSend extends Pick<NewEvent, 'destinations' | 'wakes'> {
  namespace: string;
  now: number;
  /** The trace that is under way, as headers. Those of the event itself take their place. */
  trace: Record<string, string>;
}

/** The row of an event. Its id and its derived key follow from the intent and the step; without an intent they are new. */
export function newEvent(
  { type, aggregate, payload, headers = {} }: EventToSend,
  from: Origin | undefined,
  { namespace, now, trace, ...how }: HowToSend,
): NewEvent {
  assertFit(TYPE.test(type), 'An event needs a type.', { existing: type, expected: 'up to 100 of A-Z a-z 0-9 . _ -' });
  const isName = typeof aggregate === 'string' && /^[^\0]{1,255}$/su.test(aggregate) && aggregate.isWellFormed();
  assertFit(isName, 'An event needs an aggregate: the thing whose events keep their order.', {
    existing: typeof aggregate === 'string' ? `a string of ${aggregate.length} characters` : typeof aggregate,
    expected: '1 to 255 characters',
  });
  // Without an intent the event is its own: the key is as stable as its id.
  const random = uuidV7(now);
  const origin = from ?? { scope: { tenant: '', principal: '', operation: 'outbox' }, key: random };
  const step = from?.step ?? `event ${type} ${aggregate}`;
  const derived = derivedKey(namespace, { ...origin.scope, key: origin.key }, step);
  return {
    // An execution that a failover has lost runs again, and consumers may know its event: it must have the same id.
    id: from ? derivedUuid(derived) : random,
    type,
    aggregate,
    payload: jsonOf(payload),
    headers: checkedHeaders({ ...sendableTrace(trace), ...headers }),
    derivedKey: derived,
    ...how,
  };
}

function jsonOf(payload: unknown): string {
  let json: string | undefined;
  let cause: unknown;
  try {
    json = jsonText(payload);
  } catch (error) {
    cause = error;
  }
  const existing = cause instanceof Error ? cause.message : typeof payload;
  const facts = { existing, expected: 'JSON, and nothing that refers to itself', cause };
  assertFit(json !== undefined, 'The payload of an event must be JSON.', facts);
  const bytes = Buffer.byteLength(json);
  assertFit(bytes <= MAX_RESULT_BYTES, 'The payload of an event is too large. Send a reference to it.', {
    existing: `${bytes} bytes`,
    expected: `at most ${MAX_RESULT_BYTES} bytes of JSON`,
  });
  return json;
}

/**
 * Keeps the headers of a trace that may go along, and none where they are too large. They come from a client, whose odd
 * header must not keep an order from being announced.
 */
function sendableTrace(trace: Record<string, string>): Record<string, string> {
  const kept = Object.entries(trace).filter(([name, value]) => canBeSent(name, value));
  const bytes = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return bytes > MAX_TRACE_BYTES ? {} : Object.fromEntries(kept);
}

function canBeSent(name: string, value: unknown): boolean {
  return HEADER_NAME.test(name) && !RESERVED.test(name) && typeof value === 'string' && HEADER_VALUE.test(value);
}

function checkedHeaders(headers: Record<string, string>): Record<string, string> {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    assertFit(canBeSent(name, value), `The header ${JSON.stringify(name)} of an event cannot be sent.`, {
      existing: RESERVED.test(name) ? 'a name that the sender uses itself' : 'other characters',
      expected: 'a name in lower case, and a value of visible ASCII',
    });
    bytes += name.length + value.length;
  }
  assertFit(bytes <= MAX_HEADERS_BYTES, 'The headers of an event are too large.', {
    existing: `${bytes} bytes`,
    expected: `at most ${MAX_HEADERS_BYTES} bytes`,
  });
  return { ...headers };
}
