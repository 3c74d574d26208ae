/**
 * An app, or its worker, reduced to what meets a failover: one kit for each way in which an execution reaches the database.
 * Speaks as `fixtures/executor.ts` does. `ROLE=worker` relays events, and finishes what the apps have begun.
 */
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { connect } from '@nats-io/transport-node';
import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { createIdempotency, type ForeignRequest } from 'oncekit';
import { createOutbox, type Origin } from 'oncekit/messaging';
import { startWorker } from 'oncekit/worker';
import { z } from 'zod';
import { type Client, createClient, type Transaction } from '../../shop/db.ts';
import { natsPublisher } from '../../shop/nats/publisher.ts';
import type { Task } from '../fixtures/executor.ts';

const { DATABASE_URL: url = '', GATEWAY_URL = '', NATS_URL: servers = '', EVENTS = '', DURABILITY } = process.env;
const QUERY_TIMEOUT_MS = 1000;
const AMOUNT_CENTS = 1800;
const schema = z.object({});

const wrapped = () => createClient(url);
// The kit knows nothing of this pool's connections: pg itself has to give up a silent one, or they are all silent one day.
const plain = () =>
  createClient(url, { adapter: new PlainPg({ connectionString: url, max: 10, query_timeout: QUERY_TIMEOUT_MS }) });

/** Orders and purchases on one client. Each takes effect by an order with a new id, so that a second one shows. */
function shopOn(client: Client) {
  const destination = {
    name: EVENTS,
    publisher: natsPublisher({ connect: (settings) => connect({ servers, ...settings }), subject: EVENTS }),
    attempts: 1000,
    backoff: { baseMs: 50, capMs: 250 },
  };
  const outbox = createOutbox({ prisma: client, destinations: [destination], leaseMs: 2000 });
  const idempotency = createIdempotency({
    prisma: client,
    secret: [process.env.IDEMPOTENCY_SECRET],
    leaseMs: 2000,
    redefine: true,
    onError: (error, { operation, during }) => console.error(operation, during, String(error).slice(-300)),
  });
  const options = {
    schema,
    acceptKeys: 'any' as const,
    ...(DURABILITY === 'replicated' && { durability: 'replicated' as const }),
  };
  const announce = (tx: Transaction, { scope, key }: Origin) =>
    outbox.enqueue(tx, { type: 'order.paid', aggregate: `order:${key}`, payload: { key } }, { scope, key });
  const place = (tx: Pick<Transaction, 'order'>, key: string, id: string, status: string) =>
    tx.order.create({
      data: {
        ...{ id, status, idempotencyKey: key, tenant: 'demo', principal: key, source: 'plain', sku: 'mug' },
        ...{
          quantity: 1,
          amountCents: AMOUNT_CENTS,
          paymentMethod: 'pm_card_visa',
          ...(status === 'paid' && { paymentIntent: id }),
        },
      },
    });

  const order = (name: string) =>
    idempotency.operation({ name, ...options }).handler(async ({ tx, key, scope }) => {
      const id = randomUUID();
      await place(tx, key, id, 'paid');
      await announce(tx, { key, scope });
      return { id, status: 'paid' };
    });
  const purchase = (name: string) =>
    idempotency.operation({ name, ...options }).phases(async ({ atomic, foreign, key, scope }) => {
      const id = await atomic('placed', async (tx) => (await place(tx, key, randomUUID(), 'paying')).id);
      await foreign('charged', {
        // Of the key alone: a purchase that is lost and made again sends the same words under the same derived key.
        arguments: { key },
        send: charge,
        indeterminate: 'retry',
        providerKeyTtlMs: 86_400_000,
        timeoutMs: 3000,
      });
      return await atomic('paid', async (tx) => {
        await tx.order.update({ where: { id }, data: { status: 'paid', paymentIntent: id } });
        await announce(tx, { key, scope });
        return { id, status: 'paid' };
      });
    });
  return { idempotency, outbox, order, purchase };
}

async function charge({ key }: { key: string }, { idempotencyKey, signal }: ForeignRequest): Promise<{ id: string }> {
  const answer = await fetch(`${GATEWAY_URL}/v1/payment_intents`, {
    method: 'POST',
    headers: { Authorization: 'Bearer sk_test_e2e', 'Idempotency-Key': idempotencyKey },
    body: new URLSearchParams({
      ...{ amount: String(AMOUNT_CENTS), currency: 'usd', confirm: 'true', payment_method: 'pm_card_visa' },
      'metadata[order_id]': key,
    }),
    signal,
  });
  if (!answer.ok) throw new Error(`The gateway answered ${answer.status}.`);
  return { id: ((await answer.json()) as { id: string }).id };
}

const onWrapped = shopOn(wrapped());
const onPlain = shopOn(plain());
const operations = [
  onWrapped.order('own'),
  onPlain.order('interactive'),
  onWrapped.purchase('phases'),
  onPlain.purchase('phases-plain'),
];

const say = (what: unknown) => process.stdout.write(`${JSON.stringify(what)}\n`);

if (process.env.ROLE === 'worker') {
  // Each kit's operations have their names for themselves, so one worker serves both.
  const rounds = { completeEveryMs: 250, relayEveryMs: 250, log: console.error };
  for (const { idempotency, outbox } of [onWrapped, onPlain]) {
    startWorker({ idempotency, outbox, connectionString: url, ...rounds });
  }
}

say({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, task } = JSON.parse(line) as { id: number; task: Task };
  const { operation, principal, ...request } = task;
  const found = operations.find(({ name }) => name === operation);
  if (!found) throw new Error(`There is no operation ${operation}.`);
  void found
    .execute({ ...request, payload: {}, scope: { tenant: 'demo', principal } })
    .then((outcome) => say({ id, outcome }));
}
process.exit();
