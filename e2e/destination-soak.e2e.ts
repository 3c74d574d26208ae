import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@playwright/test';
import { createInbox, verifyWebhook } from 'oncekit/messaging';
import { freePort } from '../scripts/services/ports.ts';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { SEED } from '../scripts/testing/tier.ts';
import type { Client } from '../shop/db.ts';
import { ADDRESS } from './fixtures/address.ts';
import { SECRETS } from './fixtures/app-process.ts';
import { Executor } from './fixtures/executor-process.ts';
import { startGatewayProcess } from './fixtures/gateway-process.ts';
import { random } from './fixtures/random.ts';
import { startWorkerProcess } from './fixtures/worker-process.ts';

/**
 * The shop sells and refunds while the partner that is told of it is away, comes back, and cannot make up its mind. A real
 * worker, a real port that is closed. What counts is what arrived first, in which order, and what took effect.
 */

const ORDERS = 100;
/** Of each order: paid, and three times a part given back. */
const EVENTS_EACH = 4;
const EVENTS = ORDERS * EVENTS_EACH;
const WELL_MS = 3000;
const DOWN_MS = 30_000;
const FLAPPING_MS = 20_000;
const SETTLE_MS = 120_000;
/** In how many ways at once the shop sells. */
const AT_ONCE = 4;

// Too long for `npm test`: `npm run test:soak` sets SOAK.
if (process.env.SOAK) {
  test(`the destination is down for ${DOWN_MS / 1000} s and then flaps, while ${ORDERS} orders announce ${EVENTS} events`, async () => {
    test.setTimeout(60_000 + WELL_MS + DOWN_MS + FLAPPING_MS + SETTLE_MS);
    const database = await testDatabase();
    const gateway = await startGatewayProcess();
    const partner = await startPartner(database.client, random(SEED));
    const toPartner = { EVENTS_WEBHOOK_URL: partner.url };
    const executor = await Executor.start(database.url, gateway.url, undefined, toPartner);
    const worker = await startWorkerProcess(database.url, gateway.url, toPartner);
    const { client: db } = database;
    const left = () => db.outboxDelivery.count({ where: { state: { not: 'delivered' } } });
    try {
      const selling = sell(db, executor, WELL_MS + DOWN_MS + FLAPPING_MS);
      await wait(WELL_MS);
      await partner.down();
      await wait(DOWN_MS);
      const missed = await left();
      partner.flaps = true;
      await partner.up();
      await wait(FLAPPING_MS);
      partner.flaps = false;
      const wellAt = Date.now();
      await selling;
      await expect.poll(left, { timeout: SETTLE_MS, intervals: [200] }).toBe(0);

      const events = await db.outboxEvent.findMany({ orderBy: [{ aggregate: 'asc' }, { sequence: 'asc' }] });
      expect(events).toHaveLength(EVENTS);
      const arrived = new Map<string, number[]>();
      for (const { id, aggregate, sequence } of partner.first.values()) {
        expect(events.some((event) => event.id === id)).toBe(true);
        arrived.set(aggregate, [...(arrived.get(aggregate) ?? []), sequence]);
      }
      const inOrder = Array.from({ length: EVENTS_EACH }, (_, n) => n + 1);
      expect([...arrived.values()]).toEqual(Array(ORDERS).fill(inOrder));
      // Of all there is: an effect that belongs to no event shows, too.
      const effects = await db.auditRecord.findMany({ where: { tenant: 'partner' } });
      expect(effects.map(({ action }) => action).sort()).toEqual(events.map(({ id }) => id).sort());

      const attempts = (await db.outboxDelivery.findMany()).map((row) => row.attempts).sort((a, b) => a - b);
      const sum = attempts.reduce((all, one) => all + one, 0);
      const lastAt = Math.max(...[...partner.first.values()].map(({ at }) => at));
      console.log(
        `${EVENTS} events, ${missed} of them waiting after ${DOWN_MS / 1000} s; ${sum} attempts, at most ${attempts.at(-1)} ` +
          `for one, ${partner.calls} calls heard; the last arrived ${((lastAt - wellAt) / 1000).toFixed(1)} s after recovery`,
      );
      expect(attempts.at(-1), 'there was something to survive').toBeGreaterThan(3);
      expect(partner.calls).toBeGreaterThan(EVENTS);
    } finally {
      await executor.end();
      await worker.stop();
      await partner.down();
      await gateway.stop();
      await database.drop();
    }
  });
}

/** Sells so many orders in this time, and gives a part of each back three times. */
async function sell(db: Client, executor: Executor, ms: number): Promise<void> {
  const execute = async (operation: string, principal: string, payload: Record<string, unknown>) => {
    const told = await executor.execute({ operation, key: crypto.randomUUID(), principal, payload });
    if (!told?.ok) throw new Error(`${operation}: ${JSON.stringify(told)}`);
    return told.data?.id;
  };
  const sendInTurn = async () => {
    for (let count = 0; count < ORDERS / AT_ONCE; count++) {
      const principal = crypto.randomUUID();
      const cart = { id: crypto.randomUUID(), shopper: principal, sku: 'mug', quantity: 1 };
      await db.cart.create({ data: cart });
      const order_id = await execute('checkout', principal, {
        ...ADDRESS,
        cart_id: cart.id,
        payment_method: 'pm_card_visa',
      });
      for (let part = 1; part < EVENTS_EACH; part++) {
        await wait((ms * AT_ONCE) / EVENTS);
        await execute('refund', principal, { order_id, amount: '5.00' });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
}

/** The partner: verifies, and lets each event take effect once. While it flaps, most calls come to nothing, or seem to. */
async function startPartner(db: Client, next: () => number) {
  const inbox = createInbox({ prisma: db });
  const port = await freePort();
  const first = new Map<string, { id: string; aggregate: string; sequence: number; at: number }>();
  const partner = {
    url: `http://127.0.0.1:${port}/events`,
    first,
    calls: 0,
    flaps: false,
    up: async () => void (await once(server.listen(port, '127.0.0.1'), 'listening')),
    down: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  const take = async (id: string, body: string) => {
    const received = await inbox.receiveOnce({ source: 'shop', eventId: id, payload: body }, async (tx) => {
      await tx.auditRecord.create({ data: { action: id, tenant: 'partner', principal: 'partner' } });
    });
    if (received.kind !== 'processed' && received.kind !== 'replayed') throw new Error(received.kind);
  };
  const answer = async (id: string, body: string, response: ServerResponse) => {
    const fate = partner.flaps ? Math.floor(next() * 5) : 0;
    if (fate === 1) return void response.writeHead(500).end();
    if (fate === 2) return void response.destroy();
    await take(id, body);
    if (fate === 3) return void response.destroy();
    if (fate === 4) return void response.socket?.end('no HTTP at all\r\n\r\n');
    response.writeHead(204).end();
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id } = verifyWebhook(body, request.headers as Record<string, string>, [SECRETS.EVENTS_WEBHOOK_SECRET]);
    const { aggregate, sequence } = JSON.parse(body) as { aggregate: string; sequence: number };
    partner.calls++;
    if (!first.has(id)) first.set(id, { id, aggregate, sequence, at: Date.now() });
    await answer(id, body, response).catch(() => response.writeHead(500).end());
  });
  await partner.up();
  return partner;
}
