import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createInbox } from 'oncekit/messaging';
import { testDatabase } from '../../scripts/testing/test-database.ts';
import { streamedEvent } from '../../shop/nats/message.ts';

/** Somebody else's system: hears events from the stream, and keeps what it has done about each in a database of its own. */
export interface Consumer {
  /** Counts effects by the key of the intent that announced them. */
  effects(): Promise<Map<string, number>>;
  /** When an event about this key first took effect, by `performance.now()`. */
  heardAt: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const NANOSECONDS = 1e6;

export async function startConsumer(servers: string, name: string): Promise<Consumer> {
  const database = await testDatabase({ max: 4 });
  const inbox = createInbox({ prisma: database.client });
  const connection = await connect({ servers });
  const manager = await jetstreamManager(connection);
  // The shortest window there is: a repetition reaches the consumer, whose inbox is what counts here.
  await manager.streams.add({ name, subjects: [`${name}.>`], duplicate_window: 100 * NANOSECONDS });
  await manager.consumers.add(name, { durable_name: name, ack_policy: AckPolicy.Explicit });
  const messages = await (await jetstream(connection).consumers.get(name, name)).consume();
  const heardAt = new Map<string, number>();
  const following = (async () => {
    for await (const message of messages) {
      const event = streamedEvent(message);
      if (!event) continue;
      const payload = JSON.parse(event.payload) as { key: string };
      await inbox.receiveOnce({ source: name, eventId: event.id, payload: event.payload }, async (tx) => {
        await tx.auditRecord.create({ data: { action: event.type, tenant: event.id, principal: payload.key } });
      });
      message.ack();
      if (!heardAt.has(payload.key)) heardAt.set(payload.key, performance.now());
    }
  })();
  return {
    heardAt,
    effects: async () => {
      const rows = await database.client.auditRecord.groupBy({ by: ['principal'], _count: true });
      return new Map(rows.map(({ principal, _count }) => [principal, _count]));
    },
    close: async () => {
      await messages.close();
      await following;
      await connection.close();
      await database.drop();
    },
  };
}
