import { jetstream } from '@nats-io/jetstream';
import type { connect, NatsConnection } from '@nats-io/transport-node';
import { type Attempt, type OutgoingEvent, PublishError, type Publisher } from 'oncekit/messaging';
import { headersOf, isSubject, subjectOf } from './message.ts';

type ConnectionSettings = NonNullable<Parameters<typeof connect>[0]>;

/** How to reach NATS, and where events go. */
export interface NatsOptions {
  /** `(settings) => connect({ servers, ...settings })`. Called for the first event, and again after a connection has broken. */
  connect: (settings: ConnectionSettings) => Promise<NatsConnection>;
  /** `shop` sends `order.paid` to the subject `shop.order.paid`. A stream must take these subjects. */
  subject: string;
}

const SETTINGS: ConnectionSettings = {
  name: 'oncekit',
  // A client that reconnects by itself sends later what it was given meanwhile, when the relay may have given that up. A
  // connection that breaks fails what is under way at once, and the next event opens another.
  reconnect: false,
  timeout: 5000,
  // A server that has gone without a word is noticed within 15 s.
  pingInterval: 5000,
  maxPingOut: 2,
};
const DRAIN_MS = 2000;
/** JetStream's number for "message size exceeds maximum allowed". */
const TOO_LARGE = 10_054;

/**
 * Sends events to a stream of NATS JetStream. Resolves only when the stream has acknowledged the event, which is then as
 * durable as the stream (its replicas, and how it syncs). The event's id is the message's id: the stream drops a
 * repetition within its duplicate window (2 min by default), and says so, which counts as delivered; behind that, the
 * consumer's inbox does.
 *
 * One connection is opened when it is needed, shared, and opened anew when it has broken. `close` waits for what is under
 * way, and a later event opens another. No error holds a payload, or an address with its password.
 *
 * Source: https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive#message-deduplication
 */
export function natsPublisher({ connect, subject }: NatsOptions): Publisher {
  if (!isSubject(subject)) throw new Error(`${JSON.stringify(subject)} is no subject that NATS takes.`);
  const shared = new SharedConnection(connect);
  const underWay = new Set<Promise<void>>();
  const send = async (event: OutgoingEvent, { signal, deadlineMs }: Attempt) => {
    const to = subjectOf(event, subject);
    const connection = await shared.open();
    // The attempt may have ended while the connection was opened: the event must not be sent behind the relay's back.
    if (signal.aborted) throw unacknowledged();
    const options = { msgID: event.id, timeout: deadlineMs, headers: headersOf(event) };
    const answer = await jetstream(connection)
      .publish(to, event.payload, options)
      .catch((error) => {
        throw failureOf(error, to);
      });
    if (!answer.stream) throw noStream(to);
  };
  return {
    async publish(event, attempt) {
      // Whatever comes of it when the attempt is over, the stream knows the event's id.
      const sending = Promise.race([send(event, attempt), untilOver(attempt.signal)]);
      underWay.add(sending);
      try {
        await sending;
      } finally {
        underWay.delete(sending);
      }
    },
    async close() {
      await shared.close(() => Promise.allSettled(underWay));
    },
  };
}

/** One connection, opened when it is needed, and again after it has broken. */
class SharedConnection {
  readonly #connect: NatsOptions['connect'];
  #current: Promise<NatsConnection> | undefined;

  constructor(connect: NatsOptions['connect']) {
    this.#connect = connect;
  }

  /** @throws PublishError without the error itself: that may hold the address, with its password */
  async open(): Promise<NatsConnection> {
    try {
      this.#current ??= this.#begin();
      return await this.#current;
    } catch (error) {
      throw new PublishError(`No connection to NATS: ${codeOf(error)}.`);
    }
  }

  #begin(): Promise<NatsConnection> {
    const opening = this.#connect(SETTINGS);
    const forget = () => {
      if (this.#current === opening) this.#current = undefined;
    };
    opening.then((connection) => connection.closed()).then(forget, forget);
    return opening;
  }

  /** A later `open` opens another. */
  async close(untilIdle: () => Promise<unknown>): Promise<void> {
    const closing = this.#current;
    this.#current = undefined;
    await untilIdle();
    const connection = await closing?.catch(() => undefined);
    if (!connection || connection.isClosed()) return;
    // A server that has fallen silent does not drain.
    const late = AbortSignal.timeout(DRAIN_MS);
    await Promise.race([connection.drain(), untilOver(late)]).catch(() => {});
    await connection.close();
  }
}

const noStream = (subject: string) => new PublishError(`What answers at the subject ${subject} is no stream.`);
const unacknowledged = () => new PublishError('No acknowledgement in time.');

function untilOver(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(unacknowledged());
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

/** By name, for not all of their classes are exported. What the server says holds no payload. */
function failureOf(error: unknown, subject: string): PublishError {
  const { name, message, code } = (error ?? {}) as { name?: string; message?: string; code?: unknown };
  if (name === 'JetStreamNotEnabled') {
    return new PublishError(
      `No stream takes the subject ${subject}. Create one that does, or enable JetStream on the server.`,
    );
  }
  if (code === TOO_LARGE || (name === 'InvalidArgumentError' && /max_payload/.test(message ?? ''))) {
    return new PublishError(`The event is larger than the ${code ? 'stream' : 'server'} takes.`, { next: 'give-up' });
  }
  if (name === 'JetStreamApiError') return new PublishError(`The stream has refused it: ${message} (${code}).`);
  if (name === 'TimeoutError') return unacknowledged();
  // The answer is no JSON, or none of a stream's.
  if (name === 'SyntaxError' || name === 'TypeError' || name === 'JetStreamError') return noStream(subject);
  return new PublishError(`The connection to NATS broke before the stream acknowledged: ${codeOf(error)}.`);
}

/** The innermost of what it is called: outer errors of this client are called "RequestError" all the same. */
function codeOf(error: unknown): string {
  const { name, code, cause } = (error ?? {}) as { name?: unknown; code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause instanceof Error ? codeOf(cause) : String(name ?? 'unknown');
}
