import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { askStatus, probeStatusRoute } from './status-client.ts';

/** A server that says of `/<status>/…` what a route of that status would. */
const server = createServer(({ url }, response) => {
  response.statusCode = Number(url?.split('/')[1]);
  response.end('{}');
});
let origin: string;
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
const asking = (status: number) => ({ intent: 'checkout:1', statusUrl: `${origin}/${status}` });
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("the status route is looked for under Next's basePath, which its bundler has written in", async () => {
  const asked = vi.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json({}));
  const load = async () => {
    vi.resetModules();
    const client = await import('./status-client.ts');
    await client.askStatus({ intent: 'checkout:1' }, 'k', 'GET');
    return asked.mock.lastCall?.[0];
  };
  expect(await load()).toBe('/api/idempotency/checkout/k');
  vi.stubEnv('__NEXT_ROUTER_BASEPATH', '/shop');
  expect(await load()).toBe('/shop/api/idempotency/checkout/k');
});

test('the words of a problem are its `message`, or the `detail` of a route that sends no other', async () => {
  const problem = { code: 'key_expired', detail: 'For an API.' };
  const told = async (body: object) => {
    vi.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json(body, { status: 410 }));
    return await askStatus(asking(410), 'k', 'DELETE');
  };
  expect(await told(problem)).toMatchObject({ state: 'expired', message: 'For an API.' });
  expect(await told({ ...problem, message: 'For a form.' })).toMatchObject({ message: 'For a form.' });
});

describe('a status route that is not there', () => {
  const console404 = () => vi.spyOn(console, 'error').mockImplementation(() => {});

  test('is complained of in development, once for each address, without the key', async () => {
    const complaint = console404();
    vi.stubEnv('NODE_ENV', 'development');
    await askStatus(asking(200), 'k', 'GET');
    for (const _ of [1, 2]) await askStatus(asking(404), 'k', 'GET');
    const words = expect.stringMatching(new RegExp(`answers 404 at ${origin}/404/checkout, .*statusRoute.*statusUrl`));
    await expect.poll(() => complaint.mock.calls).toEqual([[words]]);
  });

  test('is asked for before an answer is lost: once for each operation', async () => {
    const settings = asking(404);
    const asked = vi.spyOn(globalThis, 'fetch');
    probeStatusRoute(settings, 'k1');
    probeStatusRoute(settings, 'k2');
    probeStatusRoute({ ...settings, intent: 'refund:1' }, 'k1');
    expect(asked.mock.calls.map(([url]) => url)).toEqual([`${origin}/404/checkout/k1`, `${origin}/404/refund/k1`]);
  });

  test('is no matter for a console in production', async () => {
    const complaint = console404();
    vi.stubEnv('NODE_ENV', 'production');
    await askStatus(asking(404), 'k', 'GET');
    expect(complaint).not.toHaveBeenCalled();
  });
});
