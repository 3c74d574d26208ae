import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CircuitOpenError, createRetryingFetch, NoAnswerError, type RetryingFetchOptions } from '../index.ts';

let reading = 0;

/** Lets everything that needs no timer happen: streams take some turns of the event loop, a Blob as many as it likes. */
async function quiet() {
  do {
    for (let i = 0; i < 6; i++) await new Promise((resolve) => setImmediate(resolve));
  } while (reading > 0);
}

/** Moves the simulated time on, timer by timer, until the call has ended. */
async function finish<T>(call: Promise<T>): Promise<T> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  call.then(end, end);
  await quiet();
  while (!ended) {
    await vi.advanceTimersToNextTimerAsync();
    await quiet();
  }
  return call;
}

type Answer = number | Response | Error | 'hang' | (() => Answer);

interface Sent {
  at: number;
  headers: Headers;
  key: string | null;
  body: string;
}

/** A server that gives its answers in turn, the last of them for ever; and a client of it with simulated time. */
function serving(answers: Answer[], options: RetryingFetchOptions = {}) {
  const sent: Sent[] = [];
  const startedAt = Date.now();
  const send = vi.fn(async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const headers = new Headers(init?.headers);
    const one = { at: Date.now() - startedAt, headers, key: headers.get('idempotency-key'), body: '' };
    let answer = answers[Math.min(sent.length, answers.length - 1)] as Answer;
    sent.push(one);
    if (init?.body && !(init.body instanceof ReadableStream)) {
      reading++;
      one.body = await new Response(init.body).text();
      reading--;
    }
    if (typeof answer === 'function') answer = answer();
    if (answer instanceof Error) throw answer;
    if (answer === 'hang') return new Promise(() => {});
    return typeof answer === 'number'
      ? new Response(`${input} ${sent.length}`, { status: answer })
      : (answer as Response);
  });
  const client = createRetryingFetch({ fetch: send, clock: { random: () => 1 }, ...options });
  return { sent, send, client, times: () => sent.map((one) => one.at) };
}

const URL_ = 'https://shop.example/api/orders';
const POST = { method: 'POST', body: 'one tea' };
const reset = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) });
const told =
  (status: number, retryAfter: string, more = {}) =>
  () =>
    new Response(null, { status, headers: { 'retry-after': retryAfter, ...more } });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: Date.UTC(2026, 10, 21, 16) });
});
afterEach(() => {
  expect(vi.getTimerCount(), 'no timer outlives its call').toBe(0);
  vi.useRealTimers();
});

describe('H5 what is tried again', () => {
  test.each([429, 500, 501, 502, 503, 504, 599])('H5 a %d is', async (status) => {
    const { client, sent } = serving([status, 200]);
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(sent).toHaveLength(2);
  });

  test.each([200, 201, 204, 302, 400, 401, 402, 403, 404, 408, 409, 410, 412, 422, 425, 428])(
    'H5 a %d is not',
    async (status) => {
      const { client, sent } = serving([() => new Response(null, { status }), 200]);
      expect((await finish(client(URL_, POST))).status).toBe(status);
      expect(sent).toHaveLength(1);
    },
  );

  test.each([400, 402, 404, 422])('H5 a %d is not, even with Retry-After', async (status) => {
    const { client, sent } = serving([told(status, '1'), 200]);
    expect((await finish(client(URL_, POST))).status).toBe(status);
    expect(sent).toHaveLength(1);
  });

  test('H5 a 409 with Retry-After is: the key is in flight, or its outcome unknown yet', async () => {
    const { client, times } = serving([told(409, '1'), told(409, '2'), 200]);
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(times()).toEqual([0, 1000, 3000]);
  });

  test.each(['stored', 'replayed'])('H5 an answer that is %s is not: it would be replayed', async (stored) => {
    const { client, sent } = serving([told(503, '1', { 'idempotency-status': stored }), 200]);
    expect((await finish(client(URL_, POST))).status).toBe(503);
    expect(sent).toHaveLength(1);
  });

  test('H5 a lost connection is, and a body that breaks off', async () => {
    const broken = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"id":'));
            controller.error(new TypeError('terminated'));
          },
        }),
      );
    const { client, sent } = serving([reset, broken, 200]);
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(sent).toHaveLength(3);
  });

  test('H5 a timeout is: each attempt has its own', async () => {
    const { client, times } = serving(['hang', 200], { policy: { attemptTimeoutMs: 700 } });
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(times()).toEqual([0, 800]);
  });

  test('H5 what fetch throws for other reasons is thrown on as it is', async () => {
    const steering = new Error('NEXT_REDIRECT');
    const { client, sent } = serving([steering, 200]);
    await expect(finish(client(URL_, POST))).rejects.toBe(steering);
    expect(sent).toHaveLength(1);
  });

  test.each([
    ['no URL', 'http://', {}],
    ['a GET with a body', URL_, { body: 'x' }],
    ['a bad header', URL_, { headers: { 'bad header': 'x' } }],
  ])('H5 %s is refused at once, and nothing is sent', async (_, url, init) => {
    const { client, sent } = serving([200]);
    await expect(finish(client(url, init))).rejects.toBeInstanceOf(TypeError);
    expect(sent).toHaveLength(0);
  });
});

describe('H5 one key', () => {
  test.each(['POST', 'PATCH', 'post'])('H5 %s gets one key for all its attempts, in quotes', async (method) => {
    const { client, sent } = serving([503, reset, 500, 200]);
    await finish(client(URL_, { method, body: 'x' }));
    expect(sent[0]?.key).toMatch(/^"[0-9a-f-]{36}"$/);
    expect(sent.map((one) => one.key)).toEqual(Array(4).fill(sent[0]?.key));
    await finish(client(URL_, { method, body: 'x' }));
    expect(sent[4]?.key, 'the next call is another intent').not.toBe(sent[0]?.key);
  });

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('H5 %s gets none, and is tried again', async (method) => {
    const { client, sent } = serving([503, 200]);
    expect((await finish(client(URL_, { method }))).status).toBe(200);
    expect(sent.map((one) => one.key)).toEqual([null, null]);
  });

  test.each(['"mine-1"', 'mine-1'])("H5 the caller's header %j is sent as it stands", async (mine) => {
    const { client, sent } = serving([reset]);
    const headers = { 'Idempotency-Key': mine };
    await expect(finish(client(URL_, { ...POST, headers }))).rejects.toMatchObject({ key: 'mine-1' });
    expect(sent.map((one) => one.key)).toEqual(Array(5).fill(mine));
  });

  test('H5 the header of a Request counts, also for DELETE; its body is sent each time', async () => {
    const { client, sent } = serving([503, 200]);
    const request = new Request(URL_, { method: 'DELETE', headers: { 'idempotency-key': '"d"' }, body: 'why' });
    await finish(client(request));
    expect(sent.map(({ key, body }) => [key, body])).toEqual([
      ['"d"', 'why'],
      ['"d"', 'why'],
    ]);
  });

  test('H5 the key of the options wins, and is escaped', async () => {
    const { client, sent } = serving([200]);
    await finish(client(URL_, { ...POST, key: 'a\\b', headers: { 'idempotency-key': 'c' } }));
    expect(sent[0]?.key).toBe('"a\\\\b"');
  });

  test.each(['', 'a b', 'a,b', '"a"', 'x'.repeat(256)])(
    'K1 the key %j is refused, and nothing is sent',
    async (key) => {
      const { client, sent } = serving([200]);
      await expect(finish(client(URL_, { ...POST, key }))).rejects.toThrow(/A key is/);
      expect(sent).toHaveLength(0);
    },
  );

  test.each(['POST', 'PATCH', 'LOCK'])('H5 %s without a key is sent once', async (method) => {
    const onGiveUp = vi.fn();
    const { client, sent } = serving([503, 200], { onGiveUp });
    const answer = await finish(client(URL_, { method, key: false }));
    expect([answer.status, sent.length, sent[0]?.key]).toEqual([503, 1, null]);
    expect(onGiveUp).toHaveBeenCalledWith({ attempts: 1, stoppedBy: 'no_key', reason: 'status 503', key: undefined });
  });
});

describe('H5 one body', () => {
  test('H5 a form that is filled on while its call runs is sent as it was', async () => {
    const form = new FormData();
    form.set('sku', 'tea');
    form.set('photo', new File(['pixels'], 'a.png', { type: 'image/png' }));
    const { client, sent } = serving([503, 503, 200]);
    const call = client(URL_, { method: 'POST', body: form });
    form.set('sku', 'coffee');
    await finish(call);
    expect(sent).toHaveLength(3);
    expect(sent[0]?.body).toContain('tea');
    expect(sent[0]?.body).toContain('pixels');
    for (const one of sent) {
      expect(one.body, 'the same bytes, boundary included').toBe(sent[0]?.body);
      const boundary = /boundary=(.+)$/.exec(one.headers.get('content-type') ?? '')?.[1];
      expect(boundary && one.body.includes(boundary)).toBe(true);
    }
  });

  test('H5 bytes that change later, too', async () => {
    const bytes = new TextEncoder().encode('tea');
    const { client, sent } = serving([503, 200]);
    const call = client(URL_, { method: 'POST', body: bytes });
    bytes.fill(0);
    await finish(call);
    expect(sent.map((one) => one.body)).toEqual(['tea', 'tea']);
  });

  test("H5 the type of the body is told, unless the caller's header says another", async () => {
    const { client, sent } = serving([200]);
    await finish(client(URL_, { method: 'POST', body: new URLSearchParams('a=1') }));
    await finish(client(URL_, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }));
    expect(sent.map((one) => one.headers.get('content-type'))).toEqual([
      'application/x-www-form-urlencoded;charset=UTF-8',
      'application/json',
    ]);
  });

  test('H5 a stream is sent once, and the error says so', async () => {
    const { client, sent } = serving([reset, 200]);
    const init = { method: 'POST', body: new ReadableStream(), duplex: 'half', key: 'k' };
    await expect(finish(client(URL_, init))).rejects.toMatchObject({
      name: 'NoAnswerError',
      stoppedBy: 'body',
      attempts: 1,
      key: 'k',
      executed: 'unknown',
      cause: reset,
    });
    expect(sent).toHaveLength(1);
  });

  test('H5 a Request whose body has been read is refused, and nothing is sent', async () => {
    const { client, sent } = serving([200]);
    const request = new Request(URL_, POST);
    await request.text();
    await expect(finish(client(request))).rejects.toBeInstanceOf(TypeError);
    expect(sent).toHaveLength(0);
  });
});

describe('H5 how long it waits', () => {
  test('H5 by default 100, 200, 400 and 800 ms at most, and five attempts', async () => {
    const { client, times } = serving([503]);
    expect((await finish(client(URL_, POST))).status).toBe(503);
    expect(times()).toEqual([0, 100, 300, 700, 1500]);
  });

  test('H5 never more than the cap', async () => {
    const { client, times } = serving([503], { policy: { attempts: 8 } });
    await finish(client(URL_, POST));
    expect(times()).toEqual([0, 100, 300, 700, 1500, 3100, 5100, 7100]);
  });

  test.each([
    ['full', [0, 50, 150, 350, 750]],
    ['equal', [0, 75, 225, 525, 1125]],
    ['decorrelated', [0, 200, 550, 1125, 2038]],
  ] as const)('H5 %s jitter', async (jitter, expected) => {
    const { client, times } = serving([503], { policy: { jitter }, clock: { random: () => 0.5 } });
    await finish(client(URL_, POST));
    expect(times()).toEqual(expected);
  });

  test.each([
    ['seconds', told(503, '3'), 3000],
    ['no wait at all', told(503, '0'), 0],
    ['a date', told(503, 'Sat, 21 Nov 2026 16:00:04 GMT'), 4000],
    [
      'a date by the clock of the server, which is an hour fast',
      told(429, 'Sat, 21 Nov 2026 17:00:02 GMT', { date: 'Sat, 21 Nov 2026 17:00:00 GMT' }),
      2000,
    ],
    ['what cannot be read, which is ignored', told(503, 'soon'), 100],
  ])('H5 Retry-After wins: %s', async (_, answer, ms) => {
    const { client, times } = serving([answer, 200]);
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(times()).toEqual([0, ms]);
  });

  test('H5 a wait that would outlast the deadline is not begun', async () => {
    const { client, times } = serving([503, told(503, '10'), 200]);
    const startedAt = Date.now();
    expect((await finish(client(URL_, POST))).status).toBe(503);
    expect(times()).toEqual([0, 100]);
    expect(Date.now() - startedAt, 'it gives up at once').toBe(100);
  });

  test('H5 a server that never answers costs the deadline and no more; the error tells what to send again', async () => {
    const { client, sent } = serving(['hang']);
    const startedAt = Date.now();
    const error = await finish(client(URL_, POST)).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(Date.now() - startedAt).toBe(10_000);
    expect(error).toMatchObject({ attempts: 2, stoppedBy: 'deadline', executed: 'unknown' });
    expect(error.cause).toMatchObject({ name: 'AttemptTimeoutError', timeoutMs: 4900 });
    expect(`"${error.key}"`).toBe(sent[0]?.key);
  });

  test('H4 the deadline shrinks inward: each attempt says what it has left', async () => {
    const { client, sent } = serving([told(503, '4'), told(503, '3'), 503, 200]);
    await finish(client(URL_, POST));
    expect(sent.map((one) => one.headers.get('x-request-timeout'))).toEqual(['5000', '5000', '3000', '2600']);
  });

  test.each([
    ['deadlineMs', { deadlineMs: 150 }],
    ['what the caller was allowed itself', { headers: { 'x-request-timeout': '150' } }],
    ['the shorter of both', { deadlineMs: 9000, headers: { 'x-request-timeout': '150' } }],
  ])('H4 one call may have a deadline of its own: %s', async (_, init) => {
    const { client, sent } = serving([503]);
    expect((await finish(client(URL_, { ...POST, ...init }))).status).toBe(503);
    expect(sent.map((one) => one.headers.get('x-request-timeout'))).toEqual(['150', '50']);
  });

  test.each([
    ['none', { deadlineMs: 0 }],
    ['less than none', { deadlineMs: -5 }],
    ['none by the header', { headers: { 'x-request-timeout': '0' } }],
  ])('H4 a caller that has no time left sends nothing: %s', async (_, init) => {
    const { client, sent } = serving([200]);
    const expected = { name: 'NoAnswerError', attempts: 0, stoppedBy: 'deadline', key: 'k' };
    await expect(finish(client(URL_, { ...POST, key: 'k', ...init }))).rejects.toMatchObject(expected);
    expect(sent).toHaveLength(0);
  });

  test('H4 a wait that ends late leaves no time to send: the last answer is handed back', async () => {
    let lateMs = 0;
    const { client, sent } = serving([told(503, '9')], { clock: { now: () => Date.now() + lateMs } });
    const call = client(URL_, POST);
    await quiet();
    lateMs = 1500;
    expect((await finish(call)).status).toBe(503);
    expect(sent).toHaveLength(1);
  });

  test('H5 a deadline that is no number is refused, and nothing is sent', async () => {
    const { client, sent } = serving([200]);
    await expect(finish(client(URL_, { deadlineMs: Number.NaN }))).rejects.toThrow(/deadlineMs must be a number/);
    expect(sent).toHaveLength(0);
  });

  test('H4 tellTimeout: false leaves the header out', async () => {
    const { client, sent } = serving([200], { tellTimeout: false });
    await finish(client(URL_));
    expect(sent[0]?.headers.has('x-request-timeout')).toBe(false);
  });
});

describe('H4 layers', () => {
  test.each(['none', 'None'])('H4 X-Retry-Layer: %s of the caller: it is sent once, and sent on', async (value) => {
    const { client, sent } = serving([503, 200]);
    const answer = await finish(client(URL_, { ...POST, headers: { 'X-Retry-Layer': value } }));
    expect([answer.status, sent.length, sent[0]?.headers.get('x-retry-layer')]).toEqual([503, 1, value]);
  });

  test('H4 tellRetryLayer asks the layers behind not to retry; by default nothing is said', async () => {
    const loud = serving([503, 200], { tellRetryLayer: true });
    await finish(loud.client(URL_, POST));
    expect(loud.sent.map((one) => one.headers.get('x-retry-layer'))).toEqual(['none', 'none']);
    const quietly = serving([503, 200]);
    await finish(quietly.client(URL_, POST));
    expect(quietly.sent.map((one) => one.headers.get('x-retry-layer'))).toEqual([null, null]);
  });
});

describe('H5 an abort', () => {
  const reason = new Error('the page is left');

  test.each([
    ['before', 0, 0],
    ['while it is sent', 10, 1],
  ])('H5 %s ends it at once, with its reason', async (_, afterMs, count) => {
    const controller = new AbortController();
    const { client, sent } = serving(['hang']);
    if (afterMs === 0) controller.abort(reason);
    else setTimeout(() => controller.abort(reason), afterMs);
    const startedAt = Date.now();
    await expect(finish(client(URL_, { ...POST, signal: controller.signal }))).rejects.toBe(reason);
    expect([sent.length, Date.now() - startedAt]).toEqual([count, afterMs]);
  });

  test('H5 while it waits, too; the hook is told; the signal of a Request counts', async () => {
    const controller = new AbortController();
    const onGiveUp = vi.fn();
    const { client, sent } = serving([told(503, '5')], { onGiveUp });
    setTimeout(() => controller.abort(reason), 40);
    const startedAt = Date.now();
    const call = client(new Request(URL_, { ...POST, signal: controller.signal }), { key: 'k' });
    await expect(finish(call)).rejects.toBe(reason);
    expect([sent.length, Date.now() - startedAt]).toEqual([1, 40]);
    expect(onGiveUp).toHaveBeenCalledWith({ attempts: 1, stoppedBy: 'aborted', reason: 'status 503', key: 'k' });
  });
});

describe('H5 the budget', () => {
  test('H5 a full outage: 1,000 calls cause at most a tenth more, and the reserve', async () => {
    const { client, sent } = serving([503], { breaker: false, clock: { random: () => 0 } });
    for (let i = 0; i < 20; i++) {
      const answers = await finish(Promise.all(Array.from({ length: 50 }, () => client(URL_))));
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([503]));
    }
    const retries = sent.length - 1000;
    expect(retries).toBeLessThanOrEqual(1000 * 0.1 + 10);
    expect(retries, 'and what is allowed can be used').toBeGreaterThanOrEqual(100);
  });

  test('H5 when it is empty the last answer is handed back at once; calls that go well fill it', async () => {
    const onGiveUp = vi.fn();
    let status = 503;
    const { client, sent } = serving([() => new Response(null, { status })], { budget: { reserve: 2 }, onGiveUp });
    expect((await finish(client(URL_))).status).toBe(503);
    expect(sent).toHaveLength(3);
    expect(onGiveUp).toHaveBeenLastCalledWith(expect.objectContaining({ stoppedBy: 'budget', attempts: 3 }));
    status = 200;
    // One in ten: with what the failed call has earned, nine more earn the next retry.
    for (let i = 0; i < 8; i++) await finish(client(URL_));
    status = 503;
    await finish(client(URL_));
    expect(sent, 'the tenth call is tried again, once').toHaveLength(3 + 8 + 2);
  });

  test('H5 is shared by the calls of one client only', async () => {
    const { client, sent } = serving([503], { budget: { reserve: 0 } });
    await finish(Promise.all([client(URL_), client(URL_)]));
    expect(sent).toHaveLength(2);
    const other = serving([503, 200]);
    expect((await finish(other.client(URL_))).status).toBe(200);
  });
});

describe('H5 the circuit', () => {
  const options = { policy: { attempts: 1 }, breaker: { failures: 3, openMs: 1000 } };

  async function fail(client: ReturnType<typeof serving>['client'], times: number) {
    for (let i = 0; i < times; i++) await finish(client(URL_)).catch(() => {});
  }

  test.each([
    ['a 500', 500],
    ['a lost connection', reset],
    ['a timeout', 'hang'],
  ] as const)('H5 opens after %s three times in a row, and then sends nothing', async (_, answer) => {
    const { client, sent } = serving([answer], options);
    await fail(client, 3);
    const error = await finish(client(URL_, POST)).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(CircuitOpenError);
    expect(error).toMatchObject({ origin: 'https://shop.example', retryAfterMs: 1000, key: expect.any(String) });
    expect(error).toMatchObject({ executed: 'unknown' });
    expect(sent).toHaveLength(3);
  });

  test.each([429, 404, 409])('H5 a %d comes from a server that is up', async (status) => {
    const { client, sent } = serving([status], options);
    await fail(client, 20);
    expect(sent).toHaveLength(20);
  });

  test('H5 another origin goes on', async () => {
    const { client, sent } = serving([500], options);
    await fail(client, 3);
    await finish(client('https://mail.example/'));
    expect(sent).toHaveLength(4);
  });

  test('H5 after its time one call tries it, the others are refused meanwhile; success closes it', async () => {
    let answer: (response: Response) => void = () => {};
    const { client, send } = serving([500], options);
    await fail(client, 3);
    await vi.advanceTimersByTimeAsync(999);
    await expect(finish(client(URL_))).rejects.toMatchObject({ retryAfterMs: 1 });
    await vi.advanceTimersByTimeAsync(1);
    send.mockImplementation(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const trial = client(URL_);
    await quiet();
    await expect(client(URL_)).rejects.toBeInstanceOf(CircuitOpenError);
    answer(new Response('back'));
    expect((await trial).status).toBe(200);
    send.mockImplementation(async () => new Response('up'));
    expect((await finish(client(URL_))).status).toBe(200);
    expect(send).toHaveBeenCalledTimes(5);
  });

  test('H5 failure opens it for another such time, and so does an abort, which has shown nothing', async () => {
    const { client, sent } = serving([500, 500, 500, 500, 'hang'], options);
    await fail(client, 3);
    await vi.advanceTimersByTimeAsync(1000);
    await fail(client, 2);
    expect(sent, 'one trial').toHaveLength(4);
    await vi.advanceTimersByTimeAsync(1000);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 10);
    await expect(finish(client(URL_, { signal: controller.signal }))).rejects.toThrow(/abort/);
    await expect(finish(client(URL_))).rejects.toBeInstanceOf(CircuitOpenError);
    expect(sent).toHaveLength(5);
  });

  test('H5 an abort counts neither for nor against it', async () => {
    const controller = new AbortController();
    const { client, sent } = serving([500, 500, 'hang', 500], options);
    await fail(client, 2);
    setTimeout(() => controller.abort(), 10);
    await expect(finish(client(URL_, { signal: controller.signal }))).rejects.toThrow(/abort/);
    await fail(client, 1);
    await expect(finish(client(URL_))).rejects.toBeInstanceOf(CircuitOpenError);
    expect(sent).toHaveLength(4);
  });

  test('H5 when it opens in the middle of a call, that call has its last answer, and does not wait', async () => {
    const onGiveUp = vi.fn();
    const { client, sent, times } = serving([500], { breaker: options.breaker, onGiveUp });
    const startedAt = Date.now();
    const answer = await finish(client(URL_));
    expect(Date.now() - startedAt).toBe(times()[2]);
    expect([answer.status, await answer.text(), sent.length]).toEqual([500, `${URL_} 3`, 3]);
    expect(onGiveUp).toHaveBeenCalledWith(expect.objectContaining({ stoppedBy: 'circuit', attempts: 3 }));
  });

  test('H5 when others open it while a call waits, that call has its last answer, unread', async () => {
    const { client, sent } = serving([500], { policy: { attempts: 2 }, breaker: { failures: 3, openMs: 1000 } });
    const waiting = client(URL_);
    await quiet();
    const others = [client(URL_), client(URL_)];
    const [answer] = await finish(Promise.all([waiting, ...others]));
    expect([answer?.status, await answer?.text(), sent.length]).toEqual([500, `${URL_} 1`, 3]);
  });
});

describe('H5 hooks', () => {
  test('H5 tell of attempts, retries and of giving up', async () => {
    const events: unknown[] = [];
    const { client } = serving([503, reset], {
      policy: { attempts: 2 },
      onAttempt: (event) => events.push(['attempt', event]),
      onRetry: (event) => events.push(['retry', event]),
      onGiveUp: (event) => events.push(['give up', event]),
    });
    await expect(finish(client(URL_, { ...POST, key: 'k' }))).rejects.toBeInstanceOf(NoAnswerError);
    expect(events).toEqual([
      ['attempt', { attempt: 1, key: 'k', tookMs: 0, status: 503 }],
      ['retry', { attempt: 1, delayMs: 100, reason: 'status 503', key: 'k' }],
      ['attempt', { attempt: 2, key: 'k', tookMs: 0 }],
      ['give up', { attempts: 2, stoppedBy: 'attempts', reason: 'network', key: 'k' }],
    ]);
  });

  test('H5 a hook that throws costs nobody a request', async () => {
    const fail = () => {
      throw new Error('no metrics');
    };
    const { client } = serving([503, 200], { onAttempt: fail, onRetry: fail, onGiveUp: fail });
    expect((await finish(client(URL_, POST))).status).toBe(200);
  });
});

describe('H5 answers', () => {
  const body = () => {
    const cancel = vi.fn();
    return { cancel, response: new Response(new ReadableStream({ cancel }), { status: 503 }) };
  };

  test('H5 one that is not handed back is let go, for unread it would hold its connection', async () => {
    const [first, second] = [body(), body()];
    const { client } = serving([first.response, second.response], { policy: { attempts: 2 } });
    expect(await finish(client(URL_))).toBe(second.response);
    expect([first.cancel.mock.calls.length, second.cancel.mock.calls.length]).toEqual([1, 0]);
  });

  test.each([
    ['an event stream', new Headers({ 'content-type': 'text/event-stream; charset=utf-8' }), POST],
    ['a call without a key', new Headers(), {}],
    ['readBody: false', new Headers(), { ...POST, readBody: false }],
  ])('H5 %s is handed back before its body has ended', async (_, headers, init) => {
    const endless = new Response(new ReadableStream(), { headers });
    const { client } = serving([endless]);
    const startedAt = Date.now();
    expect(await finish(client(URL_, init))).toBe(endless);
    expect(Date.now()).toBe(startedAt);
  });

  test('H5 an answer in chunks of one byte is not read ahead by all that it takes to keep them', async () => {
    let left = 100_000;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (left === 0) return controller.close();
      left -= 1;
      controller.enqueue(new Uint8Array(1));
    };
    const { client } = serving([new Response(new ReadableStream({ pull }, { highWaterMark: 0 }))]);
    const { body } = await finish(client(URL_, POST));
    expect(left).toBeGreaterThan(90_000);
    await body?.cancel();
  });

  test('H5 any other answer to a call with a key must end in time', async () => {
    const { client, times } = serving([() => new Response(new ReadableStream()), 200]);
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(times()).toEqual([0, 5100]);
  });
});

describe('H5 settings', () => {
  test.each([
    { policy: { attempts: 0 } },
    { policy: { deadlineMs: Number.NaN } },
    { policy: { jitter: 'some' as 'full' } },
    { budget: { ratio: -1 } },
    { breaker: { failures: 0 } },
  ])('H5 %j is refused', (options) => {
    expect(() => createRetryingFetch(options)).toThrow(expect.objectContaining({ name: 'ConfigurationError' }));
  });

  test('H5 the clock can be replaced: time is what it says', async () => {
    let now = 0;
    const sleeps: number[] = [];
    const clock = {
      now: () => now,
      random: () => 0.25,
      // A timeout is a sleep too, and is over only where its time comes.
      sleep: (ms: number, signal: AbortSignal) =>
        ms === 5000
          ? new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          : Promise.resolve().then(() => {
              sleeps.push(ms);
              now += ms;
            }),
    };
    const { client } = serving([503, 503, 200], { clock });
    expect((await finish(client(URL_, POST))).status).toBe(200);
    expect(sleeps).toEqual([25, 50]);
  });
});
