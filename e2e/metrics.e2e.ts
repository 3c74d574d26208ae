import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { APIRequestContext } from '@playwright/test';
import type { Client } from '../shop/db.ts';
import { MUG } from './fixtures/api-client.ts';
import { SECRETS } from './fixtures/app-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { expect, test } from './fixtures/test.ts';

const TOKEN = `Bearer ${SECRETS.METRICS_TOKEN}`;

/** Every series of the page by its name with labels, as Prometheus reads it. */
async function scrape(request: APIRequestContext): Promise<Map<string, number>> {
  const answer = await request.get('/api/metrics', { headers: { Authorization: TOKEN } });
  expect(answer.status()).toBe(200);
  expect(answer.headers()).toMatchObject({
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'cache-control': 'no-store',
  });
  const lines = (await answer.text()).split('\n').filter((line) => line && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

test('X2 nobody reads the metrics without the token', async ({ request }) => {
  const wrong = [
    undefined,
    '',
    'Bearer',
    'Bearer wrong',
    `${TOKEN}x`,
    TOKEN.slice(0, -1),
    SECRETS.METRICS_TOKEN,
    `Basic ${SECRETS.METRICS_TOKEN}`,
  ];
  for (const authorization of wrong) {
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    const answer = await request.get('/api/metrics', { headers });
    expect(answer.status(), String(authorization)).toBe(401);
    expect(answer.headers()['www-authenticate']).toBe('Bearer');
    expect(await answer.text()).not.toContain('idempotent');
  }
});

/** As a relay and a receiver would have left them. */
async function plantDeadLetters(db: Client): Promise<() => Promise<void>> {
  const [eventId, at] = [randomUUID(), new Date()];
  const of = { aggregate: 'planted', sequence: 1n };
  const event = { ...of, id: eventId, type: 'planted', payload: '{}', headers: {}, derivedKey: eventId, createdAt: at };
  await db.outboxEvent.create({ data: event });
  await db.outboxDelivery.create({ data: { ...of, eventId, destination: 'planted', state: 'dead', settledAt: at } });
  const received = { source: 'planted', eventId, state: 'dead', payload: '{}', payloadHash: Buffer.alloc(32) };
  await db.inboxEvent.create({ data: received });
  return async () => {
    await db.outboxEvent.delete({ where: { id: eventId } });
    await db.inboxEvent.delete({ where: { source_eventId: { source: 'planted', eventId } } });
  };
}

test('N2 a double submit shows in the counters, and every metric of dashboard and alerts is there', async ({
  request,
  gateway,
  db,
}) => {
  const before = await scrape(request);
  const key = randomUUID();
  // The first charge is lost before the gateway has it, so that the kit waits, and sends it again.
  await gateway.break({ path: '/v1/payment_intents', kind: 'error-before', times: 1 });
  const send = (data: object) =>
    request.post('/api/orders', { data, headers: { Authorization: 'Bearer demo-alice', 'Idempotency-Key': key } });
  const [first, second] = [await send(MUG), await send(MUG)];
  expect([first.status(), second.status()]).toEqual([201, 201]);
  expect(await second.json()).toEqual(await first.json());
  expect((await send({ ...MUG, quantity: 2 })).status()).toBe(422);
  const { id } = await first.json();
  expectCounted(await gateway.charges(id)).toHaveLength(1);

  const removeDeadLetters = await plantDeadLetters(db);
  const after = await scrape(request);
  const added = (name: string) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0);
  const of = '{operation="orders.create"}';
  expect(added(`idempotent_created_total${of}`)).toBe(1);
  expect(added(`idempotent_replayed_total${of}`)).toBe(1);
  expect(added(`idempotent_mismatch_total${of}`)).toBe(1);
  for (const name of ['expired', 'abandoned', 'unknown']) {
    expect(before.has(`idempotent_${name}_total${of}`), `${name} from the first scrape on`).toBe(true);
  }
  expect(after.get('outbox_open{peer="planted",state="dead"}')).toBe(1);
  expect(after.get('inbox_open{peer="planted",state="dead"}')).toBe(1);
  expect([...after.keys()].join('\n')).not.toContain(key);

  await removeDeadLetters();

  const exposed = new Set([...after.keys()].map((name) => name.replace(/\{.*/, '')));
  const used = (
    await Promise.all(['grafana.json', 'alerts.yml'].map((file) => readFile(`docs/observability/${file}`, 'utf8')))
  )
    .flatMap((text) => [...text.matchAll(/\b(idempotent|outbox|inbox)_[a-z_]+/g)])
    .map(([name]) => name);
  expect(new Set(used).size).toBeGreaterThan(12);
  expect([...new Set(used)].filter((name) => !exposed.has(name))).toEqual([]);
});
