import { setTimeout as sleep } from 'node:timers/promises';
import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { BadPayloadError, isUnavailable } from 'oncekit';
import { EVENT_STREAM, natsAddress } from '../nats/address.ts';
import { streamedEvent } from '../nats/message.ts';
import { receiveShopEvent, type ShopEvent, shopEvent } from './receiver.ts';

/** No reconnecting: what is new is one way for both, a server that was away and one that is. */
const HOW = { name: 'demo receiver', reconnect: false, timeout: 5000, pingInterval: 5000 };
const AGAIN_MS = 1000;
/** The longest pause before an event that cannot be received is tried again: somebody has to mend something first. */
const LAST_PAUSE_MS = 600_000;
/** Handed out ahead. Little, because each is to be acknowledged within 30 s. */
const AHEAD = 5;

/**
 * The demo's receiver on the stream: acknowledges an event behind the commit of its effect, until `stopping`. Never
 * rejects: a server that is away, now or later, is waited for; said once when it goes, and once when it is back. Makes
 * the stream where there is none.
 */
export async function followEventStream(
  url: string,
  { stopping, log = console.log }: { stopping: AbortSignal; log?: (line: string) => void },
): Promise<void> {
  let isAway = false;
  const failures = new Failures(log);
  while (!stopping.aborted) {
    try {
      const connection = await connect({ ...natsAddress(url), ...HOW });
      try {
        await follow(connection, failures, stopping, () => {
          if (isAway) log('The event stream is back.');
          isAway = false;
        });
      } finally {
        await Promise.race([connection.drain().catch(() => {}), connection.closed()]);
      }
    } catch (error) {
      // Its message names hosts, never a password.
      if (!isAway && !stopping.aborted)
        log(`The event stream is away: ${error instanceof Error ? error.message : error}`);
      isAway = true;
    }
    await sleep(AGAIN_MS, undefined, { signal: stopping }).catch(() => {});
  }
}

/** Ends when it is to stop; throws when the connection has broken. */
async function follow(
  connection: NatsConnection,
  failures: Failures,
  stopping: AbortSignal,
  works: () => void,
): Promise<void> {
  const { streams, consumers } = await jetstreamManager(connection);
  const stream = await streams
    .find(`${EVENT_STREAM.subject}.order.paid`) // maybe under a name of its owner's choice
    .catch(async () => {
      const made = { name: EVENT_STREAM.name, subjects: [`${EVENT_STREAM.subject}.>`] };
      return (await streams.add(made)).config.name;
    });
  await consumers.add(stream, { durable_name: EVENT_STREAM.consumer, ack_policy: AckPolicy.Explicit });
  const consumer = await jetstream(connection).consumers.get(stream, EVENT_STREAM.consumer);
  const messages = await consumer.consume({ max_messages: AHEAD, abort_on_missing_resource: true });
  const end = () => void messages.close();
  stopping.addEventListener('abort', end, { once: true });
  if (stopping.aborted) end();
  void connection.closed().then(end);
  works();
  try {
    for await (const message of messages) {
      await settle(message, failures);
      if (stopping.aborted) break;
    }
  } finally {
    stopping.removeEventListener('abort', end);
  }
  if (!stopping.aborted) throw new Error('the connection has broken, or the stream is gone');
}

async function settle(message: JsMsg, failures: Failures): Promise<void> {
  const event = eventOf(message);
  if (!event) return message.term(); // none of the shop's, and so it would be at every repetition
  try {
    const received = await receiveShopEvent('streams', event);
    failures.over(message);
    if (received.kind === 'failed') message.nak(received.retryAfterMs);
    else if (received.kind === 'dead' && !received.isKept) message.nak(LAST_PAUSE_MS);
    else message.ack();
  } catch (error) {
    if (error instanceof BadPayloadError) return message.term(); // nested too deeply, and the like
    message.nak(isUnavailable(error) ? AGAIN_MS : failures.pauseMs(message, error));
  }
}

/** Messages that can be received neither now nor at once: each message is said once, and tried ever more seldom. */
class Failures {
  readonly #times = new Map<number, number>();
  readonly #log: (line: string) => void;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  pauseMs({ seq, info }: JsMsg, error: unknown): number {
    const times = (this.#times.get(seq) ?? 0) + 1;
    this.#times.set(seq, times);
    if (times === 1) {
      // Not the error's message, which may hold the payload.
      const { name = 'no error', code = '' } = (error ?? {}) as { name?: string; code?: string };
      this.#log(`Event ${seq} of the stream ${info.stream} cannot be received, and is tried again: ${name} ${code}`);
    }
    return Math.min(AGAIN_MS * 2 ** (times - 1), LAST_PAUSE_MS);
  }

  over({ seq }: JsMsg): void {
    this.#times.delete(seq);
  }
}

function eventOf(message: JsMsg): ShopEvent | undefined {
  const event = streamedEvent(message);
  if (!event) return undefined;
  try {
    return shopEvent.safeParse({ ...event, data: JSON.parse(event.payload) }).data;
  } catch {
    return undefined;
  }
}
