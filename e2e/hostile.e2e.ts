import fc from 'fast-check';
import type { Client } from '../lib/demo/db.ts';
import { bytesOf, type HostileRequest, hostileRequests, isWhole } from './fixtures/api-hostile.ts';
import { NO_LIMIT, postOrder } from './fixtures/api-orders.ts';
import { sendBytes, sendInHalves } from './fixtures/api-socket.ts';
import { expect, test } from './fixtures/test.ts';

/** What nobody's client should send, and somebody's will (X4). */

const REQUESTS = 2000;
/** As many at once. */
const SENDERS = 4;
/** `HOSTILE_SEED` makes the same requests again. */
const SEED = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));

test.use({ appEnv: NO_LIMIT });

test(`${REQUESTS} hostile requests: none is answered with 500 or above, and the app lives on`, async ({ app, db }) => {
  test.setTimeout(240_000);
  console.log(`Seed ${SEED} (HOSTILE_SEED=${SEED} does it again)`);
  const told = new Map<number, number>();
  const property = fc.asyncProperty(hostileRequests, async (request) => {
    const { statuses } = await sendBytes(app.url, bytesOf(request), isWhole(request));
    for (const status of statuses) told.set(status, (told.get(status) ?? 0) + 1);
    const broken = statuses.filter((status) => status >= 500 && !mayBe(status, request));
    expect(broken, `the app said last:\n${app.lines.slice(-5).join('\n')}`).toEqual([]);
    if (mustAnswer(request)) expect(statuses.length, 'a whole request has an answer').toBeGreaterThan(0);
  });
  const sender = (_: unknown, which: number) =>
    fc.assert(property, { numRuns: REQUESTS / SENDERS, seed: SEED + which });
  await Promise.all(Array.from({ length: SENDERS }, sender));
  const figures = [...told].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  console.log(figures.join(', '));

  expect(app.lines.filter((line) => /was killed|uncaught|unhandled/i.test(line))).toEqual([]);
  expect((await postOrder(app.url, crypto.randomUUID())).status).toBe(201);
  expect(await ordersPerKey(db), 'no key has placed two orders').toBeLessThanOrEqual(1);
});

const KEY = 'Idempotency-Key: "too-much"';
const TOKEN = 'Authorization: Bearer demo-alice';
const JSON_BODY = 'Content-Type: application/json';

// The server closes these connections after its answer. Had it left bytes unread, it would reset them: behind a proxy
// that speaks HTTP/1.0 to its upstream, as nginx does by default, a client may see 502 instead, and try again for ever.
for (const [name, path, headers, size, status] of [
  ['too large', '/api/orders', [KEY, JSON_BODY], 1_100_000, 413],
  ['much too large', '/api/orders', [KEY, JSON_BODY], 8_000_000, 413],
  ['compressed', '/api/orders', [KEY, JSON_BODY, 'Content-Encoding: gzip'], 900_000, 415],
  ['without a key', '/api/orders', [JSON_BODY], 900_000, 400],
  ['for the webhook', '/api/webhooks/payments', [], 8_000_000, 413],
] as const)
  test(`a body that is refused, ${name}: the refusal arrives all the same`, async ({ app }) => {
    const body = Buffer.alloc(size, ' ');
    for (const framing of ['Content-Length', 'chunked'] as const) {
      const isChunked = framing === 'chunked';
      const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`;
      const head = [`POST ${path} HTTP/1.1`, 'Host: shop', TOKEN, 'Connection: close', length, ...headers, '', ''];
      const framed = isChunked ? [`${size.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'] : [body];
      const bytes = Buffer.concat([head.join('\r\n'), ...framed].map((part) => Buffer.from(part)));
      const sendAll = async () => {
        const { statuses } = await sendBytes(app.url, bytes, true);
        expect(statuses, framing).toEqual([status]);
      };
      // By the time that others were answered, this one would have been, too, had the server not waited for the rest.
      const slow = await sendInHalves(app.url, bytes, () => Promise.all(Array.from({ length: 10 }, sendAll)));
      expect(slow, framing).toMatchObject({ statuses: [status], isEarly: false });
    }
  });

/** Unavailable is an honest answer to a caller who has no time to spare (H4), and to nobody else. */
function mayBe(status: number, { headers }: HostileRequest): boolean {
  return status === 503 && headers.some(([name, value]) => name === 'X-Request-Timeout' && Number(value) < 1000);
}

/** Where none of our code is asked, Next leaves a large body unread and hangs up; the answer may be lost with it. */
function mustAnswer(request: HostileRequest): boolean {
  return isWhole(request) && request.body.length < 1_000_000;
}

/** The most that one key of one principal has placed. */
async function ordersPerKey(db: Client): Promise<number> {
  const counts = await db.order.groupBy({ by: ['principal', 'idempotencyKey'], _count: true });
  return Math.max(...counts.map(({ _count }) => _count));
}
