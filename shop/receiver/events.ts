import type { ReceivedEvent } from 'oncekit/messaging';
import type { Client } from '../db.ts';

type Tx = Pick<Client, 'receivedEvent'>;

/** Counts the effect of an event. */
export async function applyShopEvent(tx: Tx, { eventId }: ReceivedEvent): Promise<void> {
  await tx.receivedEvent.update({ where: { id: eventId }, data: { effects: { increment: 1 } } });
}
