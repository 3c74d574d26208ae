import { describe, expect, test } from 'vitest';
import { ADVICE, type Code } from '../core/codes.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import { problemResponse, retryAfter } from './problem.ts';

const ORIGIN = 'https://shop.test';
const REQUEST = new Request(`${ORIGIN}/api/orders`);
const CODES = Object.keys(ADVICE) as Code[];

describe('H2 problem details', () => {
  test.each(CODES)('H2 %s', async (code) => {
    const refusal = refuse(code, { message: 'So it is.' });
    const response = problemResponse(refusal, REQUEST, { errorPages: '/help/errors' });
    const type = `${ORIGIN}/help/errors/${code}`;
    expect(response.status).toBe(ADVICE[code].status);
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      link: `<${type}>; rel="describedby"`,
      ...(code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {}),
    });
    expect(await response.json()).toEqual({
      type,
      title: code.replace(/_/g, ' '),
      status: ADVICE[code].status,
      detail: 'So it is.',
      instance: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      code,
      executed: 'unknown',
      retry: ADVICE[code].retry,
    });
  });

  test('H2 where there are no pages, the type leads nowhere, and no link to one is given', async () => {
    const response = problemResponse(refuse('payload_mismatch'), REQUEST);
    expect(response.headers.has('link')).toBe(false);
    expect(await response.json()).toMatchObject({
      type: 'about:blank',
      title: 'Unprocessable Entity',
      code: 'payload_mismatch',
    });
    // A status of the handler's own that has no phrase.
    const odd = problemResponse(refuse('failed', { executed: true }), REQUEST, { status: 470 });
    expect(await odd.json()).toMatchObject({ type: 'about:blank', title: 'failed' });
  });

  test('H2 pages elsewhere', async () => {
    const { type } = await problemResponse(refuse('failed'), REQUEST, { errorPages: 'https://docs.test/e' }).json();
    expect(type).toBe('https://docs.test/e/failed');
  });

  test('H2 every member has the name it has in an outcome', async () => {
    const known: Required<Refusal> = {
      ...{ ok: false, message: 'So it is.', retry: 'new-key', retryAfterMs: 5, executed: false, replayed: true },
      ...{
        code: 'failed',
        reason: 'sold_out',
        data: 1,
        fieldErrors: { sku: ['Which?'] },
        values: {},
        key: 'k1',
        nextKey: 'k2',
      },
    };
    const ofRfc = ['type', 'title', 'status', 'detail', 'instance'];
    for (const code of CODES) {
      const problem = await problemResponse({ ...known, code }, REQUEST).json();
      const own = Object.keys(problem).filter((name) => !ofRfc.includes(name));
      for (const name of own) expect(problem[name]).toEqual({ ...known, code }[name as keyof Refusal]);
      expect(own).toEqual(expect.arrayContaining(['code', 'executed', 'retry', 'retryAfterMs', 'key', 'nextKey']));
    }
  });

  test('H2 a form that asks is told the words for a person, too', async () => {
    const refusal = refuse('key_expired');
    const problem = await problemResponse(refusal, REQUEST, { forForm: true }).json();
    expect(problem.message).toBe(ADVICE.key_expired.message);
    expect(problem.detail).not.toBe(problem.message);
    expect(await problemResponse(refusal, REQUEST).json()).not.toHaveProperty('message');
  });

  test.each(CODES)('H2 %s is said in words for an API', async (code) => {
    const { detail } = await problemResponse(refuse(code), REQUEST).json();
    expect(detail).toMatch(/^[A-Z].+\.$/);
    expect(detail).not.toMatch(/\b(form|page|reload|session|sign in|submission|please|we|us|our|you|your)\b/i);
  });

  test.each([false, true, 'unknown'] as const)('H2 it says whether it was executed: %j', async (executed) => {
    expect(await problemResponse(refuse('internal', { executed }), REQUEST).json()).toMatchObject({ executed });
  });

  test('H2 what must not be repeated is not advised', async () => {
    const told = await problemResponse(refuse('unavailable', { retryAfterMs: 1000 }), REQUEST, {
      mayRepeat: false,
    }).json();
    expect(told.retry).toBe('never');
    expect(told).not.toHaveProperty('retryAfterMs');
    expect(told.detail).not.toMatch(/again|later/);
  });

  test('H2 the key and the next one are told where there are any', async () => {
    const refusal = refuse('payload_mismatch', { executed: true, key: 'k1', nextKey: 'k2' });
    expect(await problemResponse(refusal, REQUEST).json()).toMatchObject({ key: 'k1', nextKey: 'k2' });
  });

  test('H3 nothing of an answer, and nothing that was entered, is told', async () => {
    const hidden = { data: { first: 'leak' }, values: { card: 'leak' }, reason: 'leak' };
    const text = await problemResponse(refuse('payload_mismatch', { executed: true, ...hidden }), REQUEST).text();
    expect(text).not.toContain('leak');
  });

  test('H2 the status a handler stored is that of the line and of the body', async () => {
    const response = problemResponse(refuse('failed', { executed: true }), REQUEST, { status: 402 });
    expect([response.status, (await response.json()).status]).toEqual([402, 402]);
  });

  test.each([
    [{}, 'https://shop.test'],
    [{ Host: 'shop.example:8080' }, 'https://shop.example:8080'],
    [{ Host: '10.0.0.1', 'X-Forwarded-Host': 'shop.example', 'X-Forwarded-Proto': 'http' }, 'http://shop.example'],
    [{ 'X-Forwarded-Host': 'shop.example, 10.0.0.1', 'X-Forwarded-Proto': 'https,http' }, 'https://shop.example'],
    [{ Host: 'shop.example', 'X-Forwarded-Proto': 'javascript' }, 'https://shop.example'],
    [{ Host: 'no host>' }, 'https://shop.test'],
  ])('H2 the page lies where the client has found us: %j', async (headers, origin) => {
    const asked = new Request(`${ORIGIN}/api/orders`, { headers: headers as Record<string, string> });
    const { type } = await problemResponse(refuse('not_found'), asked, { errorPages: '/help' }).json();
    expect(type).toBe(`${origin}/help/not_found`);
  });

  test('R1 a stored refusal says what the handler said; a validation names the fields', async () => {
    const stored = refuse('failed', { executed: true, reason: 'sold_out', data: { left: 2n } });
    expect(await problemResponse(stored, REQUEST).json()).toMatchObject({ reason: 'sold_out', data: { left: '2' } });
    const invalid = refuse('validation', { executed: false, fieldErrors: { sku: ['Which?'] } });
    expect(await problemResponse(invalid, REQUEST).json()).toMatchObject({ fieldErrors: { sku: ['Which?'] } });
  });

  test('H2 each problem has a name of its own', async () => {
    const refusal = refuse('internal', { executed: false });
    const [one, two] = await Promise.all([1, 2].map(() => problemResponse(refusal, REQUEST).json()));
    expect(one.instance).not.toBe(two.instance);
  });

  test.each([
    [0, '1'],
    [1, '1'],
    [999.5, '1'],
    [1000, '1'],
    [1001, '2'],
    [60_000, '60'],
  ])('H2 %d ms are Retry-After: %s', (ms, seconds) => {
    expect(retryAfter(ms)).toBe(seconds);
    const refusal = refuse('in_flight', { executed: 'unknown', retryAfterMs: ms });
    expect(problemResponse(refusal, REQUEST).headers.get('Retry-After')).toBe(seconds);
  });
});
