import { beforeEach, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { assertOnePurpose } from '../core/secret-strength.ts';
import type { Driven } from '../worker/passes.ts';
import { type CronRouteOptions, cronRoute } from './cron-route.ts';

const SECRET = 'the-secret-of-the-clock';
const completeDue = vi.fn<Driven['completeDue']>();
const reap = vi.fn<Driven['reap']>();
const log = vi.fn<(line: string) => void>();

beforeEach(() => {
  for (const mock of [completeDue, reap, log]) mock.mockReset();
  // One batch, and then nothing is due: a pass goes on until that.
  completeDue.mockResolvedValueOnce({ taken: 2, settled: 1, unknown: 1, unfinished: 0 });
  completeDue.mockResolvedValue({ taken: 0, settled: 0, unknown: 0, unfinished: 0 });
  reap.mockResolvedValue(1000);
});

async function ask(task: string, authorization?: string, options: Partial<CronRouteOptions> = {}, method = 'GET') {
  const handlers = cronRoute({ completeDue, reap }, { secret: SECRET, log, ...options });
  const headers = authorization === undefined ? undefined : { authorization };
  const request = new Request(`https://shop.example/api/cron/${task}`, { method, ...(headers ? { headers } : {}) });
  const response = await handlers[method as 'GET' | 'POST'](request);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const nothingRan = () => expect([completeDue.mock.calls, reap.mock.calls]).toEqual([[], []]);

test.each(['GET', 'POST'])('%s runs a task once and tells its figures', async (method) => {
  const completed = await ask('complete', `Bearer ${SECRET}`, {}, method);
  expect(completed.status).toBe(200);
  expect(completed.body).toEqual({ task: 'complete', taken: 2, settled: 1, unknown: 1, unfinished: 0 });
  expect(completed.headers.get('cache-control')).toBe('no-store');
  expect((await ask('reap', `Bearer ${SECRET}`, {}, method)).body).toEqual({ task: 'reap', deleted: 1000 });
});

test('the scheme is known in any case, and a trailing slash changes nothing', async () => {
  expect((await ask('reap/', `bearer  ${SECRET}`)).status).toBe(200);
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearer wrong',
  `Bearer ${SECRET}x`,
  `Bearer ${SECRET.slice(1)}`,
  `Bearer ${SECRET} x`,
  SECRET,
  `Basic ${SECRET}`,
])('X2 refuses %j, and runs nothing', async (authorization) => {
  const { status, headers, body } = await ask('complete', authorization);
  expect(status).toBe(401);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('www-authenticate')).toBe('Bearer');
  expect(body).toMatchObject({ code: 'unauthorized', status: 401 });
  expect(JSON.stringify(body)).not.toContain(SECRET);
  nothingRan();
});

test.each([undefined, ''])(
  'X2 without a secret (%j) it is closed to everybody, and says so in the log',
  async (secret) => {
    for (const authorization of [undefined, 'Bearer undefined', 'Bearer ', `Bearer ${SECRET}`]) {
      expect((await ask('complete', authorization, { secret })).status).toBe(401);
    }
    nothingRan();
    expect(log).toHaveBeenCalledWith('The cron route is closed: no secret is configured.');
  },
);

test.each(['x', 'x'.repeat(32), 'changemechangeme'])(
  'X2 production refuses the secret %j, which can be guessed',
  (secret) => {
    const open = () => cronRoute({ completeDue, reap }, { secret, log });
    expect(open).not.toThrow();
    vi.stubEnv('NODE_ENV', 'production');
    try {
      expect(open).toThrow(ConfigurationError);
      expect(open).toThrow(/^cronRoute\(\{ secret \}\) can be guessed/);
      expect(() => cronRoute({ completeDue, reap }, { secret: SECRET, log })).not.toThrow();
    } finally {
      vi.unstubAllEnvs();
    }
  },
);

test('X2 production refuses the secret that signs keys', () => {
  const secret = 'a secret that signs keys, for crontabs as well';
  vi.stubEnv('NODE_ENV', 'production');
  try {
    assertOnePurpose('createIdempotency({ secret })', secret);
    expect(() => cronRoute({ completeDue, reap }, { secret, log })).toThrow(/is the secret of createIdempotency/);
  } finally {
    vi.unstubAllEnvs();
  }
});

test.each(['sweep', 'constructor', '__proto__', 'toString', ''])('%j is no task', async (task) => {
  expect(await ask(task, `Bearer ${SECRET}`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await ask(task)).status).toBe(401); // who has no secret learns no names
  nothingRan();
});

test.each([
  ['relay', 'outbox'],
  ['inbox', 'inbox'],
])('%s without an %s is no success: it says what the route was not given', async (task, box) => {
  const { status, body } = await ask(task, `Bearer ${SECRET}`);
  expect(status).toBe(404);
  expect(body.detail).toContain(`cronRoute({ ...idempotency, ${box} }`);
  expect(log).toHaveBeenCalledWith(expect.stringContaining(`was given no ${box}`));
  expect((await ask(task)).body.detail).not.toContain('cronRoute');
});

test('a call ends when its time is up', async () => {
  // Always a full batch: only the clock ends it.
  completeDue.mockImplementation(async (options) => {
    await new Promise((resolve) => setImmediate(resolve));
    const taken = options?.limit ?? 0;
    return { taken, settled: taken, unknown: 0, unfinished: 0 };
  });
  expect((await ask('complete', `Bearer ${SECRET}`, { maxMs: 20 })).status).toBe(200);
  expect(completeDue.mock.calls[0]).toEqual([{ limit: 20 }]); // and nothing breaks off what has begun
});

test('a database that is away is a 503, and its words stay in the log', async () => {
  reap.mockRejectedValue(new Error('no answer from 10.0.0.7'));
  const { status, body } = await ask('reap', `Bearer ${SECRET}`);
  expect([status, body.code]).toEqual([503, 'unavailable']);
  expect(JSON.stringify(body)).not.toContain('10.0.0.7');
  expect(log).toHaveBeenCalledWith('The cron task reap failed: no answer from 10.0.0.7');
});
