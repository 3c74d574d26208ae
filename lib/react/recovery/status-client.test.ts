import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { askStatus } from './status-client.ts';

/** A server that says of `/<status>` what a route of that status would. */
const server = createServer(({ url }, response) => {
  response.statusCode = Number(url?.slice(1));
  response.end('{}');
});
let origin: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("the status route is looked for under Next's basePath, which its bundler has written in", async () => {
  const load = async () => {
    vi.resetModules();
    return (await import('./status-client.ts')).STATUS_URL;
  };
  expect(await load()).toBe('/api/idempotency');
  vi.stubEnv('__NEXT_ROUTER_BASEPATH', '/shop');
  expect(await load()).toBe('/shop/api/idempotency');
});

describe('a status route that is not there', () => {
  test('is complained of in development, by its address', async () => {
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {});
    vi.stubEnv('NODE_ENV', 'development');
    await askStatus(`${origin}/200`, 'GET');
    expect(complaint).not.toHaveBeenCalled();
    await askStatus(`${origin}/404`, 'GET');
    expect(complaint.mock.calls).toEqual([[expect.stringContaining('answers 404'), `${origin}/404`]]);
  });

  test('is no matter for a console in production', async () => {
    const complaint = vi.spyOn(console, 'error').mockImplementation(() => {});
    vi.stubEnv('NODE_ENV', 'production');
    await askStatus(`${origin}/404`, 'GET');
    expect(complaint).not.toHaveBeenCalled();
  });
});
