import type { GatewayProcess } from '../fixtures/gateway-process.ts';
import { type Cluster, query } from './cluster.ts';
import type { Consumer } from './consumer.ts';
import type { Intent } from './load.ts';

/** The rows of each key on the primary, in one look. */
export interface Found {
  key: string;
  state: string | null;
  orders: number;
  paid: number;
  events: number;
}

const FOUND = `
SELECT asked.key, k.state, o.orders, o.paid, e.events
  FROM unnest($1::text[]) AS asked(key)
  LEFT JOIN idempotency_keys k ON k.key = asked.key
 CROSS JOIN LATERAL (
    SELECT count(*)::int AS orders, count(*) FILTER (WHERE status = 'paid')::int AS paid
      FROM orders WHERE idempotency_key = asked.key) o
 CROSS JOIN LATERAL (
    SELECT count(*)::int AS events FROM outbox_events WHERE aggregate = 'order:' || asked.key) e`;

export async function find(cluster: Cluster, intents: readonly Intent[]): Promise<Found[]> {
  return await query<Found>(cluster.primary, FOUND, [intents.map(({ key }) => key)]);
}

/** Tells whether an intent whose client was told that it is done is not. */
export const isLost = ({ state }: Found): boolean => state !== 'succeeded';

/**
 * Tells whether of key, order and event some are there and some are not. A purchase whose last phase is there, and only its end is
 * not, is whole: its key goes on from there.
 */
export function isTorn({ state, orders, paid, events }: Found): boolean {
  if (state === null) return orders > 0 || events > 0;
  return paid > 0 !== events > 0 || (state === 'succeeded' && paid === 0);
}

/** Things that a setting promises never to happen, counted when everything that was lost has been sent again. */
export interface Twice {
  executed: number;
  charged: number;
  events: number;
  /** Done, and no consumer was ever told. */
  untold: number;
}

export async function twice(
  cluster: Cluster,
  { gateway, consumer }: { gateway: GatewayProcess; consumer: Consumer },
  intents: readonly Intent[],
): Promise<Twice> {
  const found = await find(cluster, intents);
  const effects = await consumer.effects();
  const charges = new Map<string, number>();
  for (const { metadata } of (await gateway.ledger()).charges) {
    const key = metadata.order_id ?? '';
    charges.set(key, (charges.get(key) ?? 0) + 1);
  }
  const count = (isSo: (found: Found) => boolean) => found.filter(isSo).length;
  return {
    executed: count(({ orders }) => orders > 1),
    charged: count(({ key }) => (charges.get(key) ?? 0) > 1),
    events: count(({ key }) => (effects.get(key) ?? 0) > 1),
    untold: count(({ key, paid }) => paid > 0 && !effects.has(key)),
  };
}
