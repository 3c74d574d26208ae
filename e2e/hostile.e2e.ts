import fc from 'fast-check';
import { SEED, tier } from '../scripts/testing/tier.ts';
import type { Client } from '../shop/db.ts';
import { type HostileRequest, hostileRequests, isWhole } from './fixtures/api-hostile.ts';
import { postOrder } from './fixtures/api-orders.ts';
import { sendBytes, sendInHalves } from './fixtures/api-socket.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { startCustomer } from './fixtures/honest-customer.ts';
import {
  type Delivery,
  deliver,
  deliveries,
  firstAnswers,
  wholeOrder,
  wholeOrders,
} from './fixtures/hostile-deliveries.ts';
import { hostileElsewhere } from './fixtures/hostile-elsewhere.ts';
import { formTargets, hostileForms } from './fixtures/hostile-forms.ts';
import { ownErrors } from './fixtures/own-errors.ts';
import { expect, test } from './fixtures/test.ts';

/** Requests that nobody's client should send, and somebody's will (X4). */

/** `npm run test:hostile` sends 10,000, and then holds the shop to its bound as well. */
const REQUESTS = Number(process.env.HOSTILE_REQUESTS ?? (tier === 'short' ? 100 : 1000));
/** How long nobody else's request may take meanwhile, in milliseconds. Asked of a machine that does nothing besides. */
const LONGEST_MS = process.env.HOSTILE_REQUESTS ? 300 : Number.POSITIVE_INFINITY;
/** As many at once. */
const SENDERS = 4;

// An app of its own: it spends what others need, such as the tries to sign in.
test.use({ appEnv: {} });

test(`${REQUESTS} hostile requests and forms: none is answered with 500 or above, nothing is done twice, and nobody else waits`, {
  tag: '@chaos-short',
}, async ({ app, db }) => {
  test.setTimeout(240_000 + REQUESTS * 60);
  const targets = await formTargets(app.url);
  expect(targets.length, 'forms to attack').toBeGreaterThan(5);
  const anything = fc.oneof(
    { weight: 3, arbitrary: hostileRequests },
    { weight: 3, arbitrary: hostileForms(targets) },
    { weight: 1, arbitrary: hostileElsewhere },
    { weight: 1, arbitrary: wholeOrders },
  );
  const told = new Map<number, number>();
  const delivered = new Map<Delivery, number>();
  let [nexts, stored] = [0, 0];
  const property = fc.asyncProperty(anything, deliveries, async (request, delivery) => {
    const heard = await deliver(app.url, request, delivery);
    delivered.set(delivery, (delivered.get(delivery) ?? 0) + 1);
    const firsts = firstAnswers(heard);
    expect(firsts, `${delivery}: of one request all answers but one are replays`).toBeLessThanOrEqual(1);
    stored += firsts;
    for (const { statuses, text } of heard) {
      for (const status of statuses) told.set(status, (told.get(status) ?? 0) + 1);
      const broken = statuses.filter((status) => status >= 500 && !mayBe(status, request));
      const own = broken.length > 0 && (!isCall(request) || ownErrors(text, app.lines.slice(-1000)).length > 0);
      if (own) {
        const { method, path, headers, body } = request;
        const sent = `${method} ${path} ${JSON.stringify(headers).slice(0, 600)} ${body.slice(0, 600)}`;
        const last = app.lines.slice(-30).join('\n');
        expect(broken, `${sent}\n${text.slice(-2000)}\nthe app said last:\n${last}`).toEqual([]);
      }
      nexts += broken.length;
      if (mustAnswer(request)) expect(statuses.length, 'a whole request has an answer').toBeGreaterThan(0);
    }
  });
  const sender = (_: unknown, which: number) =>
    fc.assert(property, { numRuns: REQUESTS / SENDERS, seed: SEED + which });
  // The first of each is slow by itself.
  await fetch(`${app.url}/lab`);
  await postOrder(app.url, crypto.randomUUID());
  const customer = startCustomer(app.url);
  await Promise.all(Array.from({ length: SENDERS }, sender)).finally(customer.leave);
  const { requests, slowest, slowestMs, refused, keys } = await customer.leave();
  const figures = [...told].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  console.log(`${figures.join(', ')}; of Next's own: ${nexts}`);
  console.log([...delivered].map(([delivery, count]) => `${delivery}: ${count}`).join(', '));
  console.log(`${requests} honest requests beside them; the slowest, ${slowest}, took ${Math.round(slowestMs)} ms`);

  expect(delivered.size, 'ways of delivery').toBe(4);
  expect(stored, 'hostile requests that were executed all the same').toBeGreaterThan(0);
  expect(app.lines.filter(isOutOfHand)).toEqual([]);
  expect((await postOrder(app.url, crypto.randomUUID())).status).toBe(201);
  expectCounted(await ordersPerKey(db), 'no key has placed two orders').toBeLessThanOrEqual(1);
  expectCounted(await db.order.count({ where: { idempotencyKey: { in: keys } } }), 'each honest order once').toBe(
    keys.length,
  );
  expect(refused, 'what honest requests were refused').toEqual([]);
  expect(slowestMs, 'how long anybody else waited').toBeLessThan(LONGEST_MS);
});

test("an error is the app's own where its stack has a place in the app", () => {
  const logged = (frame: string) => ['⨯ RangeError: too deep', `    at ${frame} {`, "  digest: '1'", '}'];
  const own = (frame: string) => ownErrors('1:E{"digest":"1"}', logged(frame));
  expect(own('Object.get (.next/server/chunks/app.js:2:2682)')).toHaveLength(1);
  expect(own('ignore-listed frames')).toEqual([]);
  expect(own('WeakMap.set (<anonymous>)')).toEqual([]);
});

for (const delivery of ['over two connections', 'pipelined', 'slowly'] as const)
  test(`an order that arrives twice, ${delivery}, is placed once, and both are answered`, async ({ app, db }) => {
    const key = crypto.randomUUID();
    const heard = await deliver(app.url, wholeOrder(key), delivery);
    const statuses = heard.flatMap(({ statuses }) => statuses).toSorted();
    // On a busy machine the first may take longer than the second waits for it.
    expect([[201, 201], ...(delivery === 'slowly' ? [] : [[201, 409]])]).toContainEqual(statuses);
    expect(firstAnswers(heard)).toBe(1);
    expect((await postOrder(app.url, key)).status).toBe(201);
    expectCounted(await db.order.count({ where: { idempotencyKey: key } })).toBe(1);
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

test('a form is counted before Next reads it, at each address that Next answers with a page of its own', async ({
  app,
}) => {
  const headers = { 'Content-Type': 'multipart/form-data; boundary=x, application/x-www-form-urlencoded' };
  for (const [path, status] of [
    ['/', 415],
    ['/nope', 415],
    ['/favicon.ico', 415],
    ['/_next/nope', 415],
    ['/_next/static/nope', 404],
    ['/api/nope', 404],
    ['/api/nope/nope.txt', 404],
  ] as const) {
    const answer = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: 'a&'.repeat(1000) });
    expect([answer.status, await answer.text()], path).toEqual([status, expect.not.stringContaining('Server Action')]);
  }
});

/** Unavailable is an honest answer to a caller who has no time to spare (H4), and to nobody else. */
function mayBe(status: number, { headers }: HostileRequest): boolean {
  return status === 503 && headers.some(([name, value]) => name === 'X-Request-Timeout' && Number(value) < 1000);
}

/**
 * Where a client hangs up in the middle of a body, Next takes the last listener off the request for its proxy's copy, and
 * then logs that nobody has heard of it. The request is over, and nothing else is.
 */
function isOutOfHand(line: string): boolean {
  return /was killed|uncaught|unhandled/i.test(line) && !/uncaughtException: +Error: aborted$/.test(line);
}

/** Of what Next and React refuse by themselves, with a 500 of their own, before any action is called. */
function isCall({ headers }: HostileRequest): boolean {
  return (
    headers.some(([name]) => name === 'Next-Action') || headers.some(([, value]) => value.startsWith('multipart/'))
  );
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

test('a page is shown to whoever sends a token that nobody has', async ({ app }) => {
  for (const path of ['/checkout?cart=a&cart=b', '/lab', '/examples/forms', '/examples/tabs']) {
    const answer = await fetch(`${app.url}${path}`, { headers: { Authorization: 'Bearer nobody' } });
    expect(answer.status, path).toBe(200);
    if (path === '/examples/tabs') expect(await answer.text()).toContain('idempotency_key');
  }
});
