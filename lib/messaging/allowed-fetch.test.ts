import type { LookupAddress, lookup } from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { allowedFetch, isPublicAddress } from './allowed-fetch.ts';
import type { OutgoingEvent } from './destination.ts';
import { webhook } from './webhook.ts';

const secrets = [`whsec_${Buffer.alloc(32, 1).toString('base64')}`];
const event: OutgoingEvent = {
  id: '01a1ffa7-afa6-72d8-944f-50a37319bc8e',
  type: 'order.paid',
  aggregate: 'order:1',
  sequence: 1,
  payload: '{}',
  headers: {},
  derivedKey: 'd'.repeat(64),
  createdAt: new Date('2026-11-23T09:00:00Z'),
};

/** Counts the connections that arrive, also those on which nothing was sent. */
let connected: string[] = [];
let answer: (path: string) => { status: number; headers?: Record<string, string> };
let server: Server;
let port = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    const { status, headers } = answer(request.url ?? '');
    response.writeHead(status, headers).end(status === 204 ? undefined : 'ok');
  });
  server.on('connection', (socket) => connected.push(socket.localAddress ?? ''));
  await once(server.listen(0), 'listening'); // every address of this machine
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  server.closeAllConnections();
  connected = [];
  answer = () => ({ status: 200 });
});

const signal = () => AbortSignal.timeout(5000);
const attempt = () => ({ signal: signal(), deadlineMs: 5000, attempt: 1 });
const told = (failed: Promise<unknown>) =>
  failed.then(
    () => 'delivered',
    ({ message }: Error) => message,
  );
const of = (host: string, allowAddress = isPublicAddress) =>
  told(webhook({ url: `http://${host}:${port}/hook`, secrets, allowAddress }).publish(event, attempt()));

/** A name server that says something else each time, and how often it was asked. */
function names(...answers: string[][]) {
  const asked: string[] = [];
  const resolve = ((host: string, _: unknown, done: (error: null, found: LookupAddress[]) => void) => {
    const found = answers[asked.push(host) - 1] ?? [];
    setImmediate(() =>
      done(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  }) as unknown as typeof lookup;
  return { asked, resolve };
}

describe('a webhook whose URL a customer has chosen', () => {
  test.each(['localhost', '127.0.0.1', '127.1', '0x7f.1', '2130706433', '0', '[::1]', '[::ffff:127.0.0.1]', '[::]'])(
    'connects to nobody at %s',
    async (host) => {
      expect(await of(host)).toBe('No answer: ERR_ADDRESS_NOT_ALLOWED.');
      expect(connected).toEqual([]);
    },
  );

  test('without allowAddress goes where it is told, and with it to what is allowed', async () => {
    const url = `http://localhost:${port}/hook`;
    expect(await told(webhook({ url, secrets }).publish(event, attempt()))).toBe('delivered');
    connected = [];
    expect(await of('localhost', (address) => address === '127.0.0.1' || address === '::1')).toBe('delivered');
    expect(await of('127.0.0.1', (address) => address === '127.0.0.1')).toBe('delivered');
    expect(connected).toHaveLength(2);
  });

  test('a redirect is not followed, wherever it leads', async () => {
    answer = (path) =>
      path === '/hook' ? { status: 307, headers: { location: `http://localhost:${port}/` } } : { status: 200 };
    expect(await of('127.0.0.1', () => true)).toBe('HTTP 307');
    expect(connected).toHaveLength(1);
  });

  test('Retry-After and 410 are heard as without it, and an empty answer is one', async () => {
    answer = () => ({ status: 503, headers: { 'retry-after': '7' } });
    const publisher = webhook({ url: `http://127.0.0.1:${port}/`, secrets, allowAddress: () => true });
    await expect(publisher.publish(event, attempt())).rejects.toMatchObject({ retryAfterMs: 7000 });
    answer = () => ({ status: 410 });
    await expect(publisher.publish(event, attempt())).rejects.toMatchObject({ next: 'stop' });
    answer = () => ({ status: 204 });
    expect(await told(publisher.publish(event, attempt()))).toBe('delivered');
    answer = () => ({ status: 999 });
    expect(await told(publisher.publish(event, attempt()))).toBe('No answer: RangeError.');
  });

  test('an allowAddress that throws, or is async, allows nothing, and ends no process', async () => {
    const throws = () => {
      throw new Error('no such list');
    };
    const promises = (async () => true) as never;
    const rejects = (async () => throws()) as never;
    for (const host of ['localhost', '127.0.0.1']) {
      for (const allow of [throws, promises, rejects]) {
        expect(await of(host, allow)).toBe('No answer: ERR_ADDRESS_NOT_ALLOWED.');
      }
    }
    expect(connected).toEqual([]);
  });

  test('what is no answer, and what has no end, settles and leaves no connection', async () => {
    const answers = [
      '101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x',
      '205 Reset Content\r\ncontent-length: 9',
    ];
    let closed = 0;
    const odd = createSocketServer((socket) => {
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {}).on('close', () => closed++);
      socket.once('data', () => void socket.write(`HTTP/1.1 ${answers.shift()}\r\n\r\n`));
    });
    onTestFinished(() => void odd.close());
    await once(odd.listen(0), 'listening');
    const url = `http://127.0.0.1:${(odd.address() as AddressInfo).port}/`;
    const publisher = webhook({ url, secrets, allowAddress: () => true });
    const withoutEnd = { ...attempt(), signal: new AbortController().signal };
    expect(await told(publisher.publish(event, withoutEnd))).toBe('No answer: ERR_NO_ANSWER.');
    expect(await told(publisher.publish(event, withoutEnd))).toBe('delivered');
    await expect.poll(() => closed).toBe(2);
  });

  test('a connection that nobody uses is used again at once, and let go in the end', async () => {
    let closed = 0;
    const note = (socket: Socket) => void socket.on('close', () => closed++);
    server.on('connection', note);
    onTestFinished(() => void server.off('connection', note));
    server.keepAliveTimeout = 0; // this side never closes it
    const publisher = webhook({ url: `http://127.0.0.1:${port}/`, secrets, allowAddress: () => true });
    for (let times = 0; times < 2; times++) await publisher.publish(event, attempt());
    expect(connected).toHaveLength(1);
    await expect.poll(() => closed).toBe(1);
  });

  test('a fetch of one’s own could not keep it, and is refused', () => {
    const options = { url: 'https://shop.example', secrets, fetch, allowAddress: isPublicAddress };
    expect(() => webhook(options)).toThrow('allowAddress could not be kept');
  });
});

describe('DNS rebinding', () => {
  const send = (resolve: typeof lookup, allow: (address: string) => boolean, scheme = 'http') =>
    allowedFetch(allow, resolve)(new URL(`${scheme}://shop.example:${port}/`), {
      body: '{}',
      headers: {},
      signal: signal(),
    });

  test('what was checked is what is connected to: the name is asked once, and never behind the check', async () => {
    const { asked, resolve } = names(['127.0.0.1'], ['::1']);
    const checked: string[] = [];
    const note = (address: string) => checked.push(address) > 0;
    expect(await send(resolve, note)).toMatchObject({ status: 200 });
    expect([asked, checked, connected]).toEqual([
      ['shop.example'],
      ['127.0.0.1'],
      [expect.stringContaining('127.0.0.1')],
    ]);
  });

  test('a name that is allowed the first time and not the second is refused the second time', async () => {
    const { resolve } = names(['127.0.0.1'], ['::1']);
    const to = allowedFetch((address) => address === '127.0.0.1', resolve);
    const target = new URL(`http://shop.example:${port}/`);
    const post = () => to(target, { body: '{}', headers: { connection: 'close' }, signal: signal() });
    await (await post()).text();
    await expect(post()).rejects.toMatchObject({ cause: { code: 'ERR_ADDRESS_NOT_ALLOWED' } });
    expect(connected).toHaveLength(1);
  });

  test('of several addresses only those are tried that are allowed', async () => {
    const { resolve } = names(['::1', '127.0.0.1']);
    await send(resolve, (address) => address === '127.0.0.1');
    expect(connected).toEqual([expect.stringContaining('127.0.0.1')]);
  });

  test('over TLS the same holds: the handshake goes to the checked address, under the name', async () => {
    const tls = createSocketServer();
    await once(tls.listen(0), 'listening');
    const heard = once(tls, 'connection').then(async ([socket]: Socket[]) => {
      const at = socket?.localAddress;
      const [bytes] = (await once(socket as Socket, 'data')) as [Buffer];
      socket?.destroy();
      return { at, bytes };
    });
    const { resolve } = names(['::1', '127.0.0.1']);
    const target = new URL(`https://shop.example:${(tls.address() as AddressInfo).port}/`);
    const sent = allowedFetch((address) => address === '127.0.0.1', resolve)(target, {
      body: '{}',
      headers: {},
      signal: signal(),
    });
    await expect(sent).rejects.toThrow('fetch failed');
    const { at, bytes } = await heard;
    expect([at, bytes[0]]).toEqual([expect.stringContaining('127.0.0.1'), 0x16]);
    expect(bytes.toString('latin1')).toContain('shop.example');
    tls.close();
  });
});

describe('a public address', () => {
  test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '192.0.1.1', '223.255.255.255', '2606:4700::1111', '2a00:1450::1'])(
    'is %s',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  test.each([
    ['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1'],
    ['172.31.255.255', '192.168.1.1', '198.19.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '203.0.113.9'],
    ['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '::ffff:8.8.8.8', '::8.8.8.8'],
    ['64:ff9b::a9fe:a9fe', '2002:7f00:1::', '2001:0:1::', '2001:db8::1', '3fff::1', 'localhost', '', '1.2.3'],
  ])('is none of %s, %s, %s …', (...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});
