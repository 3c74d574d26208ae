import type { Client, Transaction } from '../../../../shop/db.ts';
import type { Query } from './ambient-fuzz.fixture.ts';

/** The queries of random handlers, and the rows that they leave behind. */

export type Mode = 'interactive' | 'own';

/** The names of a program's rows: of one shape in both modes, so that what is seen of them can be compared. */
export interface Names {
  space: string;
  id: (kind: 'cart' | 'order' | 'refund', slot: number, nth?: number) => string;
  event: (slot: number | string) => string;
}

export function namesOf(mode: Mode, n: number): Names {
  const letter = mode === 'own' ? 'a' : 'b';
  const space = `${letter}${String(n).padStart(7, '0')}`;
  const kinds = { cart: 'c', order: 'd', refund: 'e' };
  return {
    space,
    id: (kind, slot, nth = 0) => `${space}-0000-4000-8000-${kinds[kind]}${String(slot * 100 + nth).padStart(11, '0')}`,
    event: (slot) => `${space}-${slot}`,
  };
}

const SEEN = { id: true, sequence: true, payload: true } as const;
const ORDER_SEEN = {
  id: true,
  status: true,
  cartId: true,
  refunds: { select: { id: true, amountCents: true, status: true }, orderBy: { id: 'asc' } },
} as const;

const eventOf = ({ space, event }: Names, slot: number | string, sequence: number) => ({
  id: event(slot),
  type: 'fuzz',
  aggregate: space,
  sequence,
  payload: '',
});

const orderOf = ({ space, id }: Names, slot: number, value: number) => ({
  id: id('order', slot),
  tenant: 'fuzz',
  principal: space,
  sku: 'mug',
  quantity: value,
  amountCents: 100 * value,
  status: 'pending',
  paymentMethod: 'none',
  source: 'api',
});

const refundOf = ({ space, id }: Names, slot: number, nth: number) => ({
  id: id('refund', slot, nth),
  tenant: 'fuzz',
  principal: space,
  amountCents: nth,
  status: 'pending',
  idempotencyKey: space,
});

/** All there are, by name. */
export const QUERIES: Record<Query['query'], (tx: Transaction, names: Names, query: Query) => PromiseLike<unknown>> = {
  findUnique: (tx, { event }, { slot }) => tx.receivedEvent.findUnique({ where: { id: event(slot) }, select: SEEN }),
  findUniqueOrThrow: (tx, { event }, { slot }) =>
    tx.receivedEvent.findUniqueOrThrow({ where: { id: event(slot) }, select: SEEN }),
  findFirst: (tx, { event }, { slot }) => tx.receivedEvent.findFirst({ where: { id: event(slot) }, select: SEEN }),
  rawRead: (tx, { event }, { slot }) =>
    tx.$queryRaw`SELECT id, sequence::bigint AS sequence FROM received_events WHERE id = ${event(slot)} FOR UPDATE`,
  readOrder: (tx, { id }, { slot }) => tx.order.findUnique({ where: { id: id('order', slot) }, select: ORDER_SEEN }),

  findMany: (tx, { space }) =>
    tx.receivedEvent.findMany({ where: { aggregate: space }, select: SEEN, orderBy: { id: 'asc' } }),
  count: (tx, { space }) => tx.receivedEvent.count({ where: { aggregate: space } }),
  aggregate: (tx, { space }) =>
    tx.receivedEvent.aggregate({ where: { aggregate: space }, _sum: { sequence: true }, _count: true }),
  rawCount: (tx, { space }) => tx.$queryRaw`SELECT count(*) FROM orders WHERE tenant = 'fuzz' AND principal = ${space}`,

  create: (tx, names, { slot, value }) => tx.receivedEvent.create({ data: eventOf(names, slot, value), select: SEEN }),
  update: (tx, { event }, { slot, value }) =>
    tx.receivedEvent.update({
      where: { id: event(slot) },
      data: { sequence: { increment: value }, payload: 'updated' },
      select: SEEN,
    }),
  upsert: (tx, names, { slot, value }) =>
    tx.receivedEvent.upsert({
      where: { id: names.event(slot) },
      create: eventOf(names, slot, value),
      update: { sequence: { increment: value } },
      select: SEEN,
    }),
  delete: (tx, { event }, { slot }) => tx.receivedEvent.delete({ where: { id: event(slot) }, select: SEEN }),
  rawUpdate: (tx, { event }, { slot, value }) =>
    tx.$executeRaw`UPDATE received_events SET sequence = sequence + ${value} WHERE id = ${event(slot)}`,
  rawInsert: (tx, { event, space }, { slot, value }) =>
    tx.$executeRaw`INSERT INTO received_events (id, type, aggregate, sequence, payload)
                   VALUES (${event(slot)}, 'fuzz', ${space}, ${value}, 'raw')`,
  divide: (tx) => tx.$queryRawUnsafe('SELECT 1/0'),

  // Several statements each, for which Prisma wants a transaction.
  createOrder: (tx, names, { slot, value }) =>
    tx.order.create({
      data: {
        ...orderOf(names, slot, value),
        cartId: undefined,
        cart: { create: { id: names.id('cart', slot), shopper: names.space, sku: 'mug', quantity: value } },
        refunds: { create: [refundOf(names, slot, 1), refundOf(names, slot, 1 + value)] },
      },
      select: ORDER_SEEN,
    }),
  createBrokenOrder: (tx, names, { slot, value }) => {
    const entry = { posting: `charge:${names.id('order', slot)}`, account: 'sales', amountCents: value };
    return tx.order.create({ data: { ...orderOf(names, slot, value), entries: { create: [entry, entry] } } });
  },
  updateOrder: (tx, names, { slot, value }) =>
    tx.order.update({
      where: { id: names.id('order', slot) },
      data: {
        status: value === 1 ? 'paying' : 'payment_failed',
        refunds: {
          updateMany: { where: {}, data: { amountCents: { increment: value } } },
          create: [refundOf(names, slot, 10 + value)],
        },
      },
      select: ORDER_SEEN,
    }),
  // To a cart that may not be there: found out after the refund was written.
  moveOrder: (tx, names, { slot, value }) =>
    tx.order.update({
      where: { id: names.id('order', slot) },
      data: {
        refunds: { create: [refundOf(names, slot, 20 + value)] },
        cart: { connect: { id: names.id('cart', value === 3 ? 9 : slot) } },
      },
      select: ORDER_SEEN,
    }),
  deleteOrder: (tx, { id }, { slot, value }) =>
    value === 1
      ? tx.order.delete({ where: { id: id('order', slot) }, select: { id: true } })
      : tx.order.update({
          where: { id: id('order', slot) },
          data: { refunds: { deleteMany: { amountCents: { gt: value } } }, cart: { delete: true } },
          select: ORDER_SEEN,
        }),
  orphan: (tx, names, { slot }) =>
    tx.refund.create({ data: { ...refundOf(names, slot, 30), orderId: names.id('order', 8) } }),

  createMany: (tx, names, { value }) =>
    tx.receivedEvent.createMany({
      data: [0, 1, 2].map((slot) => eventOf(names, slot, value)),
      skipDuplicates: value > 1,
    }),
  createManyAndReturn: (tx, names, { value }) =>
    tx.receivedEvent.createManyAndReturn({
      data: [10, 11].map((slot) => eventOf(names, slot + value, value)),
      select: SEEN,
    }),
  updateMany: (tx, { space }, { value }) =>
    tx.receivedEvent.updateMany({ where: { aggregate: space }, data: { sequence: { increment: value } } }),
  deleteMany: (tx, { space }, { value }) =>
    tx.receivedEvent.deleteMany({ where: { aggregate: space, sequence: { lte: value } } }),
  rawUpdateAll: (tx, { space }) => tx.$executeRaw`UPDATE received_events SET sequence = 0 WHERE aggregate = ${space}`,
};

/** The rows of these names, without what is never the same twice. */
export async function businessRows(client: Client, spaces: readonly string[]): Promise<Map<string, unknown[]>> {
  const rows = await client.$queryRaw<{ space: string; row: object }[]>`
    SELECT left(id, 8) AS space, to_jsonb(e) - 'first_at' - 'last_at' AS row FROM received_events e
     WHERE left(id, 8) = ANY (${spaces})
    UNION ALL SELECT principal, to_jsonb(o) - 'created_at' FROM orders o WHERE principal = ANY (${spaces})
    UNION ALL SELECT principal, to_jsonb(r) - 'created_at' FROM refunds r WHERE principal = ANY (${spaces})
    UNION ALL SELECT shopper, to_jsonb(c) - 'created_at' FROM carts c WHERE shopper = ANY (${spaces})
    UNION ALL SELECT left(order_id::text, 8), to_jsonb(l) - 'at' - 'id' FROM ledger_entries l
               WHERE left(order_id::text, 8) = ANY (${spaces})
    UNION ALL SELECT key, jsonb_build_object('key', key, 'state', state, 'result', result, 'fencing_token', fencing_token,
                                             'attempts', attempts, 'schema_version', schema_version)
                FROM idempotency_keys WHERE key = ANY (${spaces})`;
  const found = new Map<string, unknown[]>(spaces.map((space) => [space, []]));
  for (const { space, row } of rows) found.get(space)?.push(row);
  for (const [space, all] of found) found.set(space, all.map((row) => JSON.stringify(row)).toSorted());
  return found;
}
