import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { assertOnePurpose } from '../core/secret-strength.ts';
import type { OutgoingEvent } from './destination.ts';
import { SignatureError, signWebhook, verifyWebhook, webhook } from './webhook.ts';

const OLD = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const NEW = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;

const event: OutgoingEvent = {
  id: '01a1ffa7-afa6-72d8-944f-50a37319bc8e',
  type: 'order.paid',
  aggregate: 'order:1',
  sequence: 3,
  payload: '{"total":1800,"note":"ä"}',
  headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  derivedKey: 'd'.repeat(64),
  createdAt: new Date('2026-11-21T19:00:00Z'),
};

type Received = { headers: IncomingMessage['headers']; body: string; url: string | undefined };
let received: Received[] = [];
let answer: (response: ServerResponse) => void;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  received.push({ headers: request.headers, body, url: request.url });
  answer(response);
});
let url = '';
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received = [];
  answer = (response) => response.writeHead(200).end('ok');
});

const attempt = (ms = 5000) => ({ signal: AbortSignal.timeout(ms), deadlineMs: ms, attempt: 1 });
const publish = (ms?: number) => webhook({ url, secrets: [NEW, OLD] }).publish(event, attempt(ms));

describe('the webhook publisher', () => {
  test('sends the event signed, under its id, with its trace and its derived key', async () => {
    await publish();
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(JSON.parse(body)).toEqual({
      type: 'order.paid',
      timestamp: '2026-11-21T19:00:00.000Z',
      aggregate: 'order:1',
      sequence: 3,
      data: { total: 1800, note: 'ä' },
    });
    expect(headers).toMatchObject({
      'webhook-id': event.id,
      'idempotency-key': `"${event.derivedKey}"`,
      'content-type': 'application/json',
      traceparent: event.headers.traceparent,
    });
    for (const secret of [OLD, NEW]) {
      expect(verifyWebhook(body, headers as Record<string, string>, [secret])).toEqual({ id: event.id });
    }
    await publish();
    expect(received[1]?.body).toBe(body);
  });

  const close = (response: ServerResponse) => void response.destroy();
  const status =
    (code: number, headers: Record<string, string> = {}) =>
    (response: ServerResponse) =>
      void response.writeHead(code, headers).end('a secret of theirs');
  test.each([
    ['500', status(500), { next: 'retry', message: 'HTTP 500' }],
    ['404', status(404), { next: 'retry' }],
    ['a redirect, which is not followed', status(307, { location: '/elsewhere' }), { message: 'HTTP 307' }],
    ['410, which stops the destination', status(410), { next: 'stop' }],
    ['429 with Retry-After', status(429, { 'retry-after': '7' }), { retryAfterMs: 7000 }],
    ['503 with a Retry-After that is garbage', status(503, { 'retry-after': 'soon' }), { retryAfterMs: undefined }],
    ['a connection that breaks', close, { next: 'retry', message: 'No answer: UND_ERR_SOCKET.' }],
    [
      'garbage',
      (response: ServerResponse) => void response.socket?.end('no HTTP at all\r\n\r\n'),
      { next: 'retry', message: expect.stringMatching(/^No answer: (HPE_|HTTPParserError)/) },
    ],
  ])('takes %s for a failure, and keeps nothing of its body', async (_, how, expected) => {
    answer = how;
    const error = await publish().then(
      () => expect.unreachable('delivered'),
      (thrown) => thrown,
    );
    expect(error).toMatchObject(expected);
    expect(error.message).not.toContain('secret');
    expect(received.map((one) => one.url)).toEqual(['/hook']);
  });

  test('gives up on an answer that does not come', async () => {
    answer = () => {};
    await expect(publish(50)).rejects.toMatchObject({ message: 'No answer in time.' });
  });

  test('200 with a body that drips and never ends is a delivery, long before the deadline', async () => {
    let drip: NodeJS.Timeout | undefined;
    answer = (response) => {
      response.writeHead(200).write('.');
      drip = setInterval(() => response.write('.'), 10);
    };
    await publish(60_000).finally(() => clearInterval(drip));
  });

  test('is not made with a password in its URL, and does not repeat it', () => {
    const made = () => webhook({ url: 'https://user:geheim@partner.example', secrets: [NEW] });
    expect(made).toThrow('holds no password');
    expect(made).not.toThrow('geheim');
  });

  test('204 without a body, and 200 with one that never ends, are deliveries', async () => {
    answer = (response) => response.writeHead(204).end();
    await publish();
    answer = (response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        response.once('drain', more);
      };
      response.writeHead(200);
      more();
    };
    await publish();
  });

  test.each([
    ['quotes', `"${NEW}"`],
    ['a space before it', ` ${NEW}`],
    ['a line break behind it', `${NEW}\n`],
    ['its prefix in capitals', NEW.replace('whsec_', 'WHSEC_')],
    ['its prefix twice', `whsec_${NEW}`],
    ['its prefix behind a name', `SECRET=${NEW}`],
  ])('is not made with a secret that has %s, and does not tell it', (_, secret) => {
    for (const use of [
      () => webhook({ url, secrets: [OLD, secret] }),
      () => signWebhook('msg_1', '', 0, [secret]),
      () => verifyWebhook('', {}, [secret]),
    ]) {
      expect(use).toThrow(ConfigurationError);
      expect(use).toThrow('is more than whsec_ and base64: quotes');
      expect(use).not.toThrow(NEW.slice(6, 16));
    }
  });

  test.each([[[]], [['short']], [['whsec_c2hvcnQ=']]])('is not made with the secrets %j', (secrets) => {
    expect(() => webhook({ url, secrets })).toThrow('secret');
  });
});

describe('signatures', () => {
  const body = '{"test": 2432232314}';
  const nowMs = 1_614_265_330_000;
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: nowMs }));
  afterEach(() => void vi.useRealTimers());

  test('are those of the reference vector of Standard Webhooks', () => {
    const headers = signWebhook('msg_p5jXN8AQM9LWM0D4loKWxJek', body, nowMs, [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    ]);
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  const signed = signWebhook('msg_1', body, nowMs, [OLD]);
  test.each([
    [
      'a forged signature',
      body,
      { ...signed, 'webhook-signature': signWebhook('msg_1', body, nowMs, [NEW])['webhook-signature'] },
      0,
    ],
    ['a tampered body', `${body} `, signed, 0],
    ['a tampered id', body, { ...signed, 'webhook-id': 'msg_2' }, 0],
    ['a tampered time', body, { ...signed, 'webhook-timestamp': '1614265331' }, 0],
    ['no signature', body, { ...signed, 'webhook-signature': '' }, 0],
    ['a recorded one that is played again later', body, signed, 301_000],
    ['one from the future', body, signed, -301_000],
  ])('refuses %s', (_, sent, headers, laterMs) => {
    vi.setSystemTime(nowMs + laterMs);
    expect(() => verifyWebhook(sent, headers, [OLD])).toThrow(SignatureError);
  });

  test.each(['whsec_x', OLD, `whsec_${Buffer.from('changeme!'.repeat(4)).toString('base64')}`])(
    'production neither signs nor verifies with %s, which can be guessed',
    (weak) => {
      vi.stubEnv('NODE_ENV', 'production');
      try {
        expect(() => webhook({ url, secrets: [weak] })).toThrow(/^A webhook secret can be guessed/);
        expect(() => signWebhook('msg_1', body, nowMs, [weak])).toThrow(ConfigurationError);
        expect(() => verifyWebhook(body, { ...signed }, [weak])).toThrow(ConfigurationError);
        const strong = `whsec_${Buffer.from('a secret of the tests of webhooks').toString('base64')}`;
        expect(() => verifyWebhook(body, { ...signed }, [strong])).toThrow(SignatureError);
      } finally {
        vi.unstubAllEnvs();
      }
    },
  );

  test.each([
    ['the same text', (webhooks: string) => webhooks],
    ['the same without its prefix', (webhooks: string) => webhooks.slice('whsec_'.length)],
    ['what its base64 says', (webhooks: string) => Buffer.from(webhooks.slice('whsec_'.length), 'base64').toString()],
  ])('X5 production neither signs nor verifies with a secret of another purpose: %s', (as, other) => {
    const shared = `whsec_${Buffer.from(`a secret that is ${as} elsewhere`).toString('base64')}`;
    vi.stubEnv('NODE_ENV', 'production');
    try {
      for (const _ of ['two webhooks may share one', 'again']) webhook({ url, secrets: [shared] });
      assertOnePurpose('createIdempotency({ secret })', other(shared));
      const said = /^A webhook secret is the secret of createIdempotency\(\{ secret \}\) as well/;
      expect(() => webhook({ url, secrets: [shared] })).toThrow(said);
      expect(() => signWebhook('msg_1', body, nowMs, [shared])).toThrow(said);
      expect(() => verifyWebhook(body, { ...signed }, [shared])).toThrow(said);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('takes what any of several signatures and secrets fits', () => {
    const both = `v1a,whatever v1,AAAA ${signed['webhook-signature']}`;
    const headers = new Headers({ ...signed, 'webhook-signature': both });
    vi.setSystemTime(nowMs + 299_000);
    expect(verifyWebhook(body, headers, [NEW, OLD])).toEqual({ id: 'msg_1' });
  });
});
