import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRetryingFetch, NoAnswerError } from '../index.ts';

interface Seen {
  key: string | undefined;
  body: string;
}

/** The server's treatment of one request, once it has read it. */
type Act = (response: ServerResponse, request: IncomingMessage) => void;

const answer =
  (status: number, headers: Record<string, string> = {}): Act =>
  (response) =>
    response.writeHead(status, headers).end('{"id":1}');
const breakOff: Act = (_, request) => request.socket.destroy();
const breakBody: Act = (response) => {
  response.writeHead(201, { 'content-length': '1000' });
  response.write('{"id":', () => response.socket?.destroy());
};
const stayQuiet: Act = () => {};
const MIB = 1_048_576;

let acts: Act[];
let seen: Seen[];
let url: string;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const key = request.headers['idempotency-key'] as string | undefined;
  const act = acts[Math.min(seen.length, acts.length - 1)] as Act;
  seen.push({ key, body });
  act(response, request);
});

beforeEach(async () => {
  seen = [];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/orders`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const quick = { policy: { baseMs: 1, capMs: 2 } };
const POST = { method: 'POST', body: '{"sku":"tea"}', headers: { 'content-type': 'application/json' } };

describe('H5 over the wire', () => {
  test('H5 connections that break off: one key, one body, one answer', async () => {
    acts = [breakOff, breakOff, breakBody, answer(503), answer(201)];
    const response = await createRetryingFetch(quick)(url, POST);
    expect([response.status, response.url, await response.json()]).toEqual([201, url, { id: 1 }]);
    expect(seen).toHaveLength(5);
    expect(seen[0]?.key).toMatch(/^"[0-9a-f-]{36}"$/);
    expect(seen).toEqual(Array(5).fill({ key: seen[0]?.key, body: POST.body }));
  });

  test('H5 a server that executes once for each key executes once, though its answers are lost', async () => {
    const executed = new Map<string | undefined, number>();
    const place: Act = (response, request) => {
      const key = seen.at(-1)?.key;
      if (!executed.has(key)) executed.set(key, executed.size + 1);
      if (seen.length < 4) return breakOff(response, request);
      response.writeHead(201, { 'idempotency-status': 'replayed' }).end(String(executed.get(key)));
    };
    acts = [place];
    const response = await createRetryingFetch(quick)(url, POST);
    expect([await response.text(), executed.size, seen.length]).toEqual(['1', 1, 4]);
  });

  describe.each([301, 302, 303, 307, 308])('H5 a redirect by %i', (status) => {
    test('takes no key and no body anywhere: it is the answer', async () => {
      const elsewhere = url.replace('127.0.0.1', 'localhost');
      const client = createRetryingFetch(quick);
      for (const call of [POST, { ...POST, method: 'PUT' }, { ...POST, key: false as const }, { key: 'k1' }]) {
        seen = [];
        acts = [answer(status, { location: elsewhere }), answer(200)];
        const response = await client(url, call);
        expect([response.status, response.url, seen.length]).toEqual([status, url, 1]);
      }
      seen = [];
      expect((await client(new Request(url, POST))).status).toBe(status);
      expect(seen).toHaveLength(1);
    });

    test('is followed where nothing is sent, or where the caller says so', async () => {
      acts = [answer(status, { location: '/elsewhere' }), answer(200)];
      const client = createRetryingFetch(quick);
      for (const call of [{}, { ...POST, redirect: 'follow' as const }]) {
        seen = [];
        const response = await client(url, call);
        expect([response.status, new URL(response.url).pathname, seen.length]).toEqual([200, '/elsewhere', 2]);
      }
      acts = [answer(status, { location: '/elsewhere' })];
      await expect(client(new Request(url, { ...POST, redirect: 'error' }))).rejects.toThrow(NoAnswerError);
    });
  });

  test('H5 a long answer is read ahead as far as 1 MiB, and the rest as its caller reads it', async () => {
    let left = 64;
    const write = (response: ServerResponse): unknown => {
      if (left-- === 0) return response.end();
      return response.write(Buffer.alloc(MIB), () => write(response));
    };
    acts = [write];
    const response = await createRetryingFetch(quick)(url, POST);
    expect(left).toBeGreaterThan(32); // the sockets between the two hold some of it, too
    expect((await response.arrayBuffer()).byteLength).toBe(64 * MIB);
  });

  test('H5 a server that says nothing: the attempt ends in time, and so does its connection', async () => {
    let left = () => {};
    const closed = new Promise<void>((resolve) => {
      left = resolve;
    });
    acts = [(response) => response.once('close', left), answer(201)];
    const client = createRetryingFetch({ policy: { ...quick.policy, attemptTimeoutMs: 300 } });
    expect((await client(url, POST)).status).toBe(201);
    expect(seen[1]).toEqual(seen[0]);
    await closed;
  });

  test('H5 nobody listens: the error tells what to send again, and sending it works', async () => {
    acts = [answer(201)];
    const client = createRetryingFetch(quick);
    const port = Number(new URL(url).port);
    await new Promise((resolve) => server.close(resolve));
    const error = await client(url, POST).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(error).toMatchObject({ attempts: 5, stoppedBy: 'attempts', cause: expect.any(TypeError) });

    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect((await client(url, { ...POST, key: error.key })).status).toBe(201);
    expect(seen).toEqual([{ key: `"${error.key}"`, body: POST.body }]);
  });

  test('H5 a Request and its body', async () => {
    acts = [breakOff, answer(503), answer(201)];
    const request = new Request(url, { ...POST, method: 'PUT' });
    expect((await createRetryingFetch(quick)(request)).status).toBe(201);
    expect(seen).toEqual(Array(3).fill({ key: undefined, body: POST.body }));
  });

  test('H5 a form with a file: the same bytes each time', async () => {
    acts = [breakOff, answer(503), answer(201)];
    const form = new FormData();
    form.set('photo', new File(['pixels'], 'a.png', { type: 'image/png' }));
    expect((await createRetryingFetch(quick)(url, { method: 'POST', body: form })).status).toBe(201);
    expect(seen).toEqual(Array(3).fill(seen[0]));
    expect(seen[0]?.body).toContain('pixels');
  });

  test('H5 a stream is sent, once', async () => {
    acts = [breakOff, answer(201)];
    const init = { method: 'POST', body: new Blob(['one tea']).stream(), duplex: 'half' };
    await expect(createRetryingFetch(quick)(url, init)).rejects.toMatchObject({ stoppedBy: 'body' });
    expect(seen.map((one) => one.body)).toEqual(['one tea']);
  });

  test('H5 an abort closes the connection', async () => {
    const controller = new AbortController();
    let left = () => {};
    const closed = new Promise<void>((resolve) => {
      left = resolve;
    });
    acts = [
      (response) => {
        response.once('close', left);
        controller.abort();
      },
    ];
    const call = createRetryingFetch(quick)(url, { ...POST, signal: controller.signal });
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    await closed;
    expect(seen).toHaveLength(1);
  });

  test('H5 an abort reaches a body that is still read', async () => {
    acts = [(response) => response.writeHead(200).write('first')];
    const controller = new AbortController();
    const response = await createRetryingFetch(quick)(url, { signal: controller.signal });
    controller.abort();
    await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('H5 a total deadline ends it while the server says nothing', async () => {
    acts = [stayQuiet];
    const client = createRetryingFetch({ policy: { ...quick.policy, deadlineMs: 150, attemptTimeoutMs: 100 } });
    const startedAt = performance.now();
    await expect(client(url, POST)).rejects.toMatchObject({ stoppedBy: 'deadline' });
    expect(performance.now() - startedAt).toBeGreaterThan(140);
  });
});
