import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { casesFor, conformanceCases } from './suite.ts';
import type { ConformanceTarget } from './target.ts';

/** An endpoint that takes every request for a new one. */
let naive: Server;
let target: ConformanceTarget;

beforeAll(async () => {
  let made = 0;
  naive = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(201, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ id: `order-${++made}` }));
    });
  });
  await new Promise<void>((resolve) => naive.listen(0, '127.0.0.1', resolve));
  target = {
    origin: `http://127.0.0.1:${(naive.address() as AddressInfo).port}`,
    path: '/orders',
    body: () => ({ sku: 'mug', quantity: 1 }),
    otherBody: () => ({ sku: 'mug', quantity: 2 }),
    headers: { Authorization: 'Bearer alice' },
    otherHeaders: { Authorization: 'Bearer bob' },
    invalidBody: () => ({ sku: 'mug' }),
    refusedBody: () => ({ sku: 'gone', quantity: 1 }),
    otherPath: '/orders/2',
    otherOperation: { path: '/refunds', body: () => ({ amount: 1 }) },
    statusPath: (key) => `/status/${key}`,
    mintKey: (at) => `minted-${at}`,
  };
});
afterAll(() => new Promise((resolve) => naive.close(resolve)));

/** The cases that an endpoint without idempotency keys passes. */
const RIGHT_ANYHOW = ['methods: GET, HEAD, OPTIONS and PUT need no key'];

describe('the conformance suite', () => {
  test('each case has a title of its own', () => {
    const titles = conformanceCases.map(({ rule, name }) => `${rule}: ${name}`);
    expect(new Set(titles).size).toBe(titles.length);
  });

  test('an endpoint that knows no keys passes none of the cases that are about keys', async () => {
    const passed: string[] = [];
    for (const { rule, name, run } of casesFor(target)) {
      const failed = await run(target).catch((error: Error) => error);
      if (!failed) passed.push(`${rule}: ${name}`);
      else expect(failed).toMatchObject({ name: 'ConformanceError', message: expect.stringContaining('expected') });
    }
    expect(passed).toEqual(RIGHT_ANYHOW);
  });

  test('a case is left out where the target has nothing for it', () => {
    const { mintKey, otherPath, ...bare } = target;
    const left = conformanceCases.filter((one) => !casesFor(bare).includes(one));
    expect(left.length).toBeGreaterThan(0);
    for (const { needs } of left) expect(needs.some((need) => need === 'mintKey' || need === 'otherPath')).toBe(true);
  });
});
