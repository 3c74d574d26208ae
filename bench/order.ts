import { randomUUID } from 'node:crypto';
import { createIdempotency, sqlOf } from 'oncekit';
import { z } from 'zod';
import { type Client, createClient, type Transaction } from '../shop/db.ts';

/** More callers than this wait at the pool, not at the database. */
export const POOL = 10;
export const SECRET = ['bench-secret-of-at-least-32-characters'];
export const who = { tenant: 'bench', principal: 'bench' };
export const orderInput = z.object({ n: z.number() });

/** The effect of every way of the benchmarks: one row, the smallest business there is. */
export function orderRow(n: number) {
  return {
    id: randomUUID(),
    ...who,
    sku: 'mug',
    quantity: 1,
    amountCents: n,
    status: 'pending',
    paymentMethod: 'pm_card_visa',
    source: 'lab',
  };
}

type Begin = NonNullable<Parameters<typeof createIdempotency>[0]['begin']>;
/** Options of the operation besides. */
type More = { begin?: Begin; oncePer?: () => string };

/** What a handler does, and the bare transaction beside it. */
export type Business = (tx: Transaction, n: number) => Promise<{ id: string }>;

/** The floor: what an app without idempotency does. */
export async function bare(client: Client, n: number, business = inTurn(1)) {
  return await client.$transaction(async (tx) => business(tx, n));
}

/** So many queries, one after the other: the order, then reads and writes of it in turn. */
export function inTurn(queries: number): Business {
  return async (tx, n) => {
    const { id } = await tx.order.create({ data: orderRow(n) });
    for (let query = 1; query < queries; query++) {
      if (query % 2) await tx.order.findUnique({ where: { id } });
      else await tx.order.update({ where: { id }, data: { amountCents: query } });
    }
    return { id };
  };
}

/** The code that people write by hand, with Prisma's models: three statements in an interactive transaction. */
export async function obvious(client: Client, n: number) {
  const key = randomUUID();
  const id = { ...who, operation: 'obvious', key };
  const expiresAt = new Date(Date.now() + 25 * 3_600_000);
  return await client.$transaction(async (tx) => {
    await tx.idempotencyKey.create({
      data: {
        ...id,
        state: 'in_progress',
        fingerprint: Buffer.alloc(32),
        fingerprintVersion: 1,
        secretId: 'none',
        expiresAt,
      },
    });
    const order = await tx.order.create({ data: orderRow(n) });
    await tx.idempotencyKey.update({
      where: { tenant_principal_operation_key: id },
      data: { state: 'succeeded', result: JSON.stringify({ id: order.id }), settledAt: new Date() },
    });
    return order;
  });
}

/** The same with the kit. Each call sets it up anew, as a process that knows no key yet. */
export function orderOperation(prisma: Client, business = inTurn(1), more: More = {}) {
  return createIdempotency({ prisma, secret: SECRET, poolSize: POOL, scope: () => who })
    .operation({ name: 'order', schema: orderInput, ...more })
    .handler(async ({ input, tx }) => await business(tx, input.n));
}

/** Its execution; throws where there is no success to be measured. */
export function orderOf(client: Client, business?: Business, more?: More) {
  return executing(orderOperation(client, business, more));
}

function executing(operation: Pick<ReturnType<typeof orderOperation>, 'execute'>) {
  return async ({ key, n, attempt }: { key: string; n: number; attempt?: number }) => {
    const outcome = await operation.execute({ key, payload: { n }, attempt });
    if (!outcome.ok) throw new Error(`The order was refused: ${outcome.code}`);
    return outcome;
  };
}

/** The same order past Prisma's engine: the one statement of a handler that is hot. */
export function rawOrderOf(prisma: Client) {
  const operation = createIdempotency({ prisma, secret: SECRET, poolSize: POOL, scope: () => who })
    .operation({ name: 'order', schema: orderInput })
    .handler(async ({ input, tx }) => {
      const { id, tenant, principal, sku, quantity, amountCents, status, paymentMethod, source } = orderRow(input.n);
      await sqlOf(tx)`
        INSERT INTO orders (id, tenant, principal, sku, quantity, amount_cents, status, payment_method, source)
        VALUES (${id}::uuid, ${tenant}, ${principal}, ${sku}, ${quantity}, ${amountCents}, ${status}, ${paymentMethod}, ${source})`;
      return { id };
    });
  return executing(operation);
}

/** For `next build`, which evaluates modules and makes no query. */
const NO_DATABASE = 'postgresql://no-database-during-the-build';

/** A client whose pool is pg's own: the engine then sends its statements inside of Prisma's transaction. */
export function plainClient(url = process.env.DATABASE_URL ?? NO_DATABASE): Client {
  const before = process.env.POOL;
  process.env.POOL = 'plain';
  try {
    return createClient(url, { max: POOL });
  } finally {
    if (before === undefined) delete process.env.POOL;
    else process.env.POOL = before;
  }
}
