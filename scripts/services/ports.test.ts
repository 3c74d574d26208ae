import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { freePort, portFrom, refuseTakenPort, untilAnswering } from './ports.ts';

const server = createServer((_, res) => res.writeHead(503).end());
let port: number;

beforeEach(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  if (server.listening) await once(server.close(), 'close');
});

test('a taken port is refused with its number and variable; a free one is not', async () => {
  await expect(refuseTakenPort(port, '127.0.0.1', 'PORT')).rejects.toThrow(
    `Port ${port} is in use. Stop what listens there, or choose another port with PORT.`,
  );
  await once(server.close(), 'close');
  await refuseTakenPort(port, '127.0.0.1', 'PORT');
});

test('a port comes from the environment, or is the usual one', () => {
  vi.stubEnv('PORT', '');
  expect(portFrom('PORT', 3000)).toBe(3000);
  vi.stubEnv('PORT', '4000');
  expect(portFrom('PORT', 3000)).toBe(4000);
});

test.each(['http', '0', '65536', '1.5'])('%s is no port', (text) => {
  vi.stubEnv('PORT', text);
  expect(() => portFrom('PORT', 3000)).toThrow(`PORT is "${text}". It must be a port`);
});

test('any answer counts as answering, none does not', async () => {
  const url = `http://127.0.0.1:${port}`;
  const { signal } = new AbortController();
  await untilAnswering(url, { signal });
  server.closeAllConnections();
  await once(server.close(), 'close');
  await expect(untilAnswering(url, { signal, timeoutMs: 200 })).rejects.toThrow('did not answer within 0.2 s');
  await expect(untilAnswering(url, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
});

test('each port is given once, none that somebody listens on, and none that a system gives to whoever connects', async () => {
  const first = await freePort();
  const taken = createServer();
  await once(taken.listen(first + 1, '127.0.0.1'), 'listening');
  const more = [await freePort(), await freePort()];
  await once(taken.close(), 'close');
  expect(new Set([first, first + 1, ...more]).size).toBe(4);
  for (const given of more) expect(given).toBeLessThan(32_768);
});
