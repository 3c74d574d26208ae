import { ConfigurationError } from '../core/errors.ts';
import { settleWithin, untilAborted } from '../core/wait.ts';
import { headersOf, isSubject, subjectOf } from './nats-message.ts';
import { type Attempt, type OutgoingEvent, PublishError, type Publisher } from './publisher.ts';

/** The part of a connection that is used; `NatsConnection` of `@nats-io/transport-node` fits. */
export interface NatsConnectionLike {
  isClosed(): boolean;
  closed(): Promise<unknown>;
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Hand it on to `connect`. */
export interface NatsConnectionSettings {
  name: string;
  /**
   * Off: a client that reconnects by itself sends later what it was given meanwhile, when the relay may have given that
   * up. A connection that breaks fails what is under way at once, and the next event opens another.
   */
  reconnect: false;
  timeout: number;
  pingInterval: number;
  maxPingOut: number;
}

/** How to reach NATS, and which subject an event goes to. */
export interface NatsStreamOptions<Connection extends NatsConnectionLike, Headers extends NatsHeadersLike> {
  /** `(how) => connect({ servers, ...how })`. Called for the first event, and again after a connection has broken. */
  connect: (how: NatsConnectionSettings) => Promise<Connection>;
  /** `headers` of `@nats-io/transport-node`. */
  headers: () => Headers;
  /** `jetstream` of `@nats-io/jetstream`. */
  jetstream: (connection: Connection) => JetStreamLike<NoInfer<Headers>>;
  /** `shop` sends `order.paid` to the subject `shop.order.paid`; or a function. A stream must take these subjects. */
  subject: string | ((event: OutgoingEvent) => string);
}

/** The part of NATS headers that is used. */
export interface NatsHeadersLike {
  set(name: string, value: string): void;
}

/** The part of a JetStream client that is used. */
export interface JetStreamLike<Headers> {
  publish(
    subject: string,
    payload: string,
    options: { msgID: string; timeout: number; headers: Headers },
  ): Promise<{ stream: string }>;
}

const HOW: NatsConnectionSettings = {
  name: 'oncekit',
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
 * The packages are handed in, so that apps without NATS need none. One connection is opened when it is needed, shared,
 * and opened anew when it has broken. `close` waits for what is under way, and a later event opens another. No error
 * holds a payload, or an address with its password.
 *
 * Source: https://docs.nats.io/using-nats/developer/develop_jetstream/model_deep_dive#message-deduplication
 */
export function natsStream<Connection extends NatsConnectionLike, Headers extends NatsHeadersLike>({
  connect,
  headers,
  jetstream,
  subject,
}: NatsStreamOptions<Connection, Headers>): Publisher {
  if (typeof subject === 'string' && !isSubject(subject)) {
    throw new ConfigurationError('Events cannot be sent to this subject.', {
      existing: subject,
      expected: 'a subject such as `shop`, without spaces, `*` and `>`',
    });
  }
  const shared = new SharedConnection(connect, jetstream);
  const underWay = new Set<Promise<unknown>>();
  const send = async (event: OutgoingEvent, to: string, { signal, deadlineMs }: Attempt) => {
    const stream = await shared.open();
    // The attempt may have ended while the connection was opened: the event must not be sent behind the relay's back.
    if (signal.aborted) throw unacknowledged();
    const how = { msgID: event.id, timeout: deadlineMs, headers: headersOf(event, headers()) };
    const answer = await stream.publish(to, event.payload, how).catch((error) => {
      throw failureOf(error, to);
    });
    if (!answer.stream) throw noStream(to);
  };
  return {
    async publish(event, attempt) {
      const to = subjectOf(event, subject);
      const sending = endWithAttempt(attempt.signal, () => send(event, to, attempt));
      const ended = sending.catch(() => {});
      underWay.add(ended);
      void ended.then(() => underWay.delete(ended));
      await sending;
    },
    close: () => shared.close(() => Promise.all(underWay)),
  };
}

/** One connection and its stream, opened when it is needed, and again after it has broken. */
class SharedConnection<Connection extends NatsConnectionLike, Stream> {
  readonly #connect: (how: NatsConnectionSettings) => Promise<Connection>;
  readonly #jetstream: (connection: Connection) => Stream;
  #current: Promise<{ connection: Connection; stream: Stream }> | undefined;

  constructor(
    connect: (how: NatsConnectionSettings) => Promise<Connection>,
    jetstream: (connection: Connection) => Stream,
  ) {
    this.#connect = connect;
    this.#jetstream = jetstream;
  }

  /** @throws PublishError without the error itself: that may hold the address, with its password */
  async open(): Promise<Stream> {
    this.#current ??= this.#begin();
    try {
      return (await this.#current).stream;
    } catch (error) {
      throw new PublishError(`No connection to NATS: ${codeOf(error)}.`);
    }
  }

  #begin() {
    const opening = this.#start();
    const forget = () => {
      if (this.#current === opening) this.#current = undefined;
    };
    opening.then(({ connection }) => connection.closed().then(forget, forget), forget);
    return opening;
  }

  async #start() {
    const connection = await this.#connect(HOW);
    try {
      return { connection, stream: this.#jetstream(connection) };
    } catch (error) {
      await connection.close().catch(() => {}); // the next attempt opens another
      throw error;
    }
  }

  /** A later `open` opens another. */
  async close(untilIdle: () => Promise<unknown>): Promise<void> {
    const closing = this.#current;
    this.#current = undefined;
    await untilIdle();
    const { connection } = (await closing?.catch(() => undefined)) ?? {};
    if (!connection || connection.isClosed()) return;
    // A server that has fallen silent does not drain.
    const drained = connection.drain().catch(() => {});
    await settleWithin(drained, DRAIN_MS, () => {});
    await connection.close();
  }
}

const noStream = (subject: string) => new PublishError(`What answers at the subject ${subject} is no stream.`);
const unacknowledged = () => new PublishError('No acknowledgement in time.');

/** An attempt that is over must not wait for an answer. Whatever comes of `send` then, the stream knows the event's id. */
async function endWithAttempt(signal: AbortSignal, send: () => Promise<void>): Promise<void> {
  try {
    await untilAborted(signal, send);
  } catch (error) {
    throw signal.aborted && error === signal.reason ? unacknowledged() : error;
  }
}

/** By name, because their classes are in packages that we do not import. What the server says holds no payload. */
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
