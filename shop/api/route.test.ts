import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../db.ts';
import { answered } from './route.ts';

const said = vi.spyOn(console, 'error').mockImplementation(() => {});
afterEach(() => said.mockClear());

const request = new Request('http://shop.test/api/orders/1?secret=1');

async function answerTo(act: () => Promise<unknown>) {
  const response = await answered(request, async () => {
    await act();
    return new Response('never');
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

test('a database that is away is 503, to be tried again', async () => {
  const away = createClient('postgresql://nobody@127.0.0.1:1/nowhere');
  const { status, headers, body } = await answerTo(() => away.order.findFirst());
  expect({ status, body }).toMatchObject({ status: 503, body: { code: 'unavailable', retry: 'same-key' } });
  expect(headers.get('retry-after')).toBe('1');
  expect((await answerTo(() => away.$transaction((tx) => tx.order.findFirst()))).status).toBe(503);
});

test('anything else is 500; the log names the instance, and nothing of what was sent', async () => {
  const { status, headers, body } = await answerTo(() => Promise.reject(new Error('card 4242')));
  expect({ status, body }).toMatchObject({ status: 500, body: { code: 'internal', retry: 'same-key' } });
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(said).toHaveBeenCalledOnce();
  const line = said.mock.calls[0]?.join(' ');
  expect(line).toContain(body.instance);
  expect(line).not.toMatch(/card|secret/);
});
