/** Shared by the tests of the outbox: a publisher that is told how to behave, and time that passes at once. */
import type { Client } from '../../shop/db.ts';
import type { Attempt, Destination, OutgoingEvent } from './destination.ts';
import { createInbox, createOutbox, type InboxOptions, type Outbox, type OutboxOptions } from './prisma.ts';
import type { Report } from './report.ts';

export { gate, watchOf } from '../integration/kit.fixture.ts';

type Behaviour = (event: OutgoingEvent, attempt: Attempt) => void | Promise<void>;

/** A destination in this process: keeps what it is sent, and answers as `behave` says. */
export function destination(name = 'sink', options: Partial<Destination> = {}) {
  const sent: OutgoingEvent[] = [];
  const sink = {
    sent,
    behave: (() => {}) as Behaviour,
    /** `sequence` of what was sent of one aggregate, in the order in which it came. */
    order: (aggregate: string) => sent.filter((one) => one.aggregate === aggregate).map(({ sequence }) => sequence),
    route: {
      name,
      publisher: {
        publish: async (event: OutgoingEvent, attempt: Attempt) => {
          sent.push(event);
          await sink.behave(event, attempt);
        },
      },
      backoff: { baseMs: 60_000, capMs: 60_000 },
      ...options,
    },
  };
  return sink;
}

/** An outbox as one process has it. */
export function outboxOn(client: Client, destinations: Destination[], options: Partial<OutboxOptions> = {}) {
  const reports: Report[] = [];
  const outbox = createOutbox({ prisma: client, destinations, onReport: (one) => reports.push(one), ...options });
  return { ...outbox, reports };
}

/** An inbox as one process has it. */
export function inboxOn(client: Client, options: Partial<InboxOptions<Client>> = {}) {
  const reports: Report[] = [];
  return { ...createInbox({ prisma: client, onReport: (one) => reports.push(one), ...options }), reports };
}

/** Lets the pause of what has failed be over, also for a clock that is set back meanwhile. */
export const pausesEnd = (client: Client) =>
  client.$executeRaw`
    UPDATE inbox_events SET next_attempt_at = clock_timestamp() - interval '1 minute' WHERE state = 'failed'`;

/** Announces so many events of one aggregate, each in a transaction of its own. */
export async function announce(client: Client, outbox: Outbox, aggregate: string, count = 1): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    const event = { type: 'order.paid', aggregate, payload: { n } };
    ids.push((await client.$transaction((tx) => outbox.enqueue(tx, event))).eventId);
  }
  return ids;
}

/** Lets leases and pauses of what is under way end now. */
export async function timePasses(client: Client): Promise<void> {
  await client.$executeRaw`
    UPDATE outbox_deliveries SET next_attempt_at = clock_timestamp() - interval '1 minute' WHERE state = 'pending'`;
}

/** Lets whole days go by, for what is kept. */
export async function daysPass(client: Client, days: number): Promise<void> {
  await client.$executeRaw`UPDATE outbox_events SET created_at = created_at - ${days} * interval '1 day'`;
  await client.$executeRaw`UPDATE outbox_deliveries SET settled_at = settled_at - ${days} * interval '1 day'`;
}

export const deliveries = (client: Client) =>
  client.outboxDelivery.findMany({ orderBy: [{ aggregate: 'asc' }, { sequence: 'asc' }, { destination: 'asc' }] });

/** Writes so many events, `a:0001` and on, each the only one of its aggregate, and for each destination a delivery that is dead or due. */
export async function fillDeliveries(client: Client, state: 'dead' | 'pending', count: number, destinations: string[]) {
  await client.$executeRaw`
    INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
    SELECT gen_random_uuid(), 'a:' || lpad(n::text, 4, '0'), 1, 'order.paid', '{}', '{}', 'key ' || n, now()
      FROM generate_series(1, ${count}::int) n`;
  await client.$executeRaw`
    INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, state, next_attempt_at, settled_at)
    SELECT id, destination, aggregate, sequence, ${state}, CASE ${state} WHEN 'pending' THEN now() END,
           CASE ${state} WHEN 'dead' THEN now() END
      FROM outbox_events, unnest(${destinations}::text[]) AS destination`;
  await client.$executeRaw`ANALYZE outbox_deliveries`;
}
