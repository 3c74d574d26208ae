import { randomUUID } from 'node:crypto';
import { createIdempotency } from 'oncekit';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { type Client, createClient } from '../shop/db.ts';
import { countingProxy } from './counting-proxy.ts';
import { orderInput, orderRow, POOL, plainClient, SECRET, who } from './order.ts';
import type { Report, Row } from './report.ts';
import { interleaved, load, ratio, type Sample } from './rounds.ts';

const OPERATIONS = 600;
const COUNTED = 50;

/** A provider that answers at once, so that all that is measured is what is written around its call. */
async function charge({ amount }: { amount: number }, key: string): Promise<{ paymentIntent: string }> {
  return { paymentIntent: `pi_${amount}_${key}` };
}

/** Two atomic phases with one foreign call between, with the kit. */
function phasedOrder(prisma: Client) {
  const operation = createIdempotency({ prisma, secret: SECRET, poolSize: POOL, scope: () => who })
    .operation({ name: 'phased', schema: orderInput })
    .phases(async ({ input, atomic, foreign }) => {
      const { id } = await atomic('order_created', async (tx) => {
        const order = await tx.order.create({ data: { ...orderRow(input.n), status: 'paying' } });
        return { id: order.id };
      });
      const { paymentIntent } = await foreign('charge_created', {
        arguments: { amount: input.n },
        send: (stored, { idempotencyKey }) => charge(stored, idempotencyKey),
        indeterminate: 'retry',
        providerKeyTtlMs: 86_400_000,
      });
      return await atomic('finished', async (tx) => {
        await tx.order.update({ where: { id }, data: { status: 'paid', paymentIntent } });
        return { id };
      });
    });
  return async (n: number) => {
    const outcome = await operation.execute({ key: randomUUID(), payload: { n } });
    if (!outcome.ok) throw new Error(`The order was refused: ${outcome.code}`);
  };
}

/**
 * The same by hand, as Rocket Rides does it (https://github.com/brandur/rocket-rides-atomic): the key is found or
 * created, and each phase is a transaction that ends with its recovery point. The charge is between two transactions.
 */
async function byHand(client: Client, n: number): Promise<void> {
  const id = { ...who, operation: 'by hand', key: randomUUID() };
  const where = { tenant_principal_operation_key: id };
  await client.$transaction(async (tx) => {
    if (!(await tx.idempotencyKey.findUnique({ where }))) await tx.idempotencyKey.create({ data: unfinished(id, n) });
  });
  const order = await client.$transaction(async (tx) => {
    const created = await tx.order.create({ data: { ...orderRow(n), status: 'paying' } });
    await tx.idempotencyKey.update({ where, data: { recoveryPoint: 'order_created' } });
    return created;
  });
  const { paymentIntent } = await charge({ amount: n }, id.key);
  await client.$transaction(async (tx) => {
    await tx.order.update({ where: { id: order.id }, data: { paymentIntent } });
    await tx.idempotencyKey.update({ where, data: { recoveryPoint: 'charge_created' } });
  });
  await client.$transaction(async (tx) => {
    await tx.order.update({ where: { id: order.id }, data: { status: 'paid' } });
    await tx.idempotencyKey.update({ where, data: settled({ id: order.id }) });
  });
}

/** As few transactions as can be: nothing says that a charge was begun, and what it was answered is kept at the end. */
async function leanByHand(client: Client, n: number): Promise<void> {
  const id = { ...who, operation: 'lean by hand', key: randomUUID() };
  const order = await client.$transaction(async (tx) => {
    await tx.idempotencyKey.create({ data: { ...unfinished(id, n), recoveryPoint: 'order_created' } });
    return await tx.order.create({ data: { ...orderRow(n), status: 'paying' } });
  });
  const { paymentIntent } = await charge({ amount: n }, id.key);
  await client.$transaction(async (tx) => {
    await tx.order.update({ where: { id: order.id }, data: { status: 'paid', paymentIntent } });
    const where = { tenant_principal_operation_key: id };
    await tx.idempotencyKey.update({ where, data: settled({ id: order.id }) });
  });
}

function unfinished(id: typeof who & { operation: string; key: string }, n: number) {
  const lockedUntil = new Date(Date.now() + 30_000);
  return {
    ...id,
    state: 'in_progress',
    fingerprint: Buffer.alloc(32),
    fingerprintVersion: 1,
    secretId: 'none',
    input: Buffer.from(JSON.stringify({ n })),
    leaseUntil: lockedUntil,
    nextAttemptAt: lockedUntil,
    expiresAt: new Date(Date.now() + 72 * 3_600_000),
  };
}

const settled = (result: object) => ({
  state: 'succeeded',
  recoveryPoint: 'finished',
  result: JSON.stringify(result),
  settledAt: new Date(),
  leaseUntil: null,
  nextAttemptAt: null,
  input: null,
});

/** Compares an operation in phases with the same by hand: keys of their own, eight callers, a pool of ten. */
export async function phases(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  const kit = phasedOrder(client);
  const measured = (run: (n: number) => Promise<unknown>) => () => load(run, OPERATIONS);
  try {
    const { floor, again, ...ways } = await interleaved({
      floor: measured((n) => byHand(plain, n)),
      kit: measured(kit),
      lean: measured((n) => leanByHand(plain, n)),
      again: measured((n) => byHand(plain, n)),
    });
    const row = (figure: string, way: Sample[], of: keyof Sample, must: { atLeast?: number } = {}) =>
      ratio({ figure, of: (sample) => sample[of], floor: [floor, again], way, ...must });
    return {
      name: 'Two atomic phases with a foreign call between, ratio to the same by hand with a recovery point',
      rows: [
        row('phases, throughput', ways.kit, 'perSecond', { atLeast: 1 }),
        row("phases, Node's CPU per operation", ways.kit, 'cpuUs'),
        row("phases, PostgreSQL's CPU per operation", ways.kit, 'postgresUs'),
        row('throughput of the leanest by hand, which knows of no call that was begun', ways.lean, 'perSecond'),
        ...(await counted(url)),
      ],
    };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}

/** Transactions and statements of one operation, on the wire. */
async function counted(url: string): Promise<Row[]> {
  const proxy = await countingProxy(new URL(url));
  const [client, plain] = [createClient(proxy.url), plainClient(proxy.url)];
  const ways = {
    phases: phasedOrder(client),
    'phases without oncekitPool': phasedOrder(plain),
    'the same by hand': (n: number) => byHand(plain, n),
    'the leanest by hand': (n: number) => leanByHand(plain, n),
  };
  try {
    const rows: Row[] = [];
    for (const [name, run] of Object.entries(ways)) {
      for (let n = 0; n < COUNTED; n++) await run(n); // opens the connection, prepares the statements
      const { statements, transactions } = { ...proxy.counts, statements: proxy.counts.statements.length };
      for (let n = 0; n < COUNTED; n++) await run(n);
      const each = (after: number, before: number) => (after - before) / COUNTED;
      const perOperation = each(proxy.counts.transactions, transactions);
      const must = name.includes('by hand') || name.includes('without') ? {} : { must: '≤ 3', met: perOperation <= 3 };
      rows.push(
        { figure: `${name}, transactions per operation`, value: perOperation.toFixed(2), ...must },
        {
          figure: `${name}, statements per operation`,
          value: each(proxy.counts.statements.length, statements).toFixed(2),
        },
      );
    }
    return rows;
  } finally {
    await Promise.all([client.$disconnect(), plain.$disconnect()]);
    await proxy.close();
  }
}
