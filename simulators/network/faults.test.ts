import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { FaultInputError, FaultList, parseKeepAlive, parseRule, visitorOf } from './faults.ts';
import { RequestLog } from './request-log.ts';

describe('which request a rule hits', () => {
  test.each([
    [{ method: 'post', path: '/checkout' }, 'POST', '/checkout', true],
    [{ method: 'POST', path: '/checkout' }, 'GET', '/checkout', false],
    [{ path: '/checkout' }, 'POST', '/checkout/x', false],
    [{ path: '/api/*' }, 'PUT', '/api/orders/1', true],
    [{ path: '/api/*' }, 'PUT', '/apix', false],
    [{ path: '*' }, 'GET', '/', true],
    [{}, 'GET', '/anything', true],
  ])('%j and %s %s: %s', (match, method, path, hit) => {
    const faults = new FaultList();
    faults.add(parseRule({ kind: 'status', match }));
    expect(faults.take(method, path) !== undefined).toBe(hit);
  });

  test('a rule is spent after its times; the next one takes over', () => {
    const faults = new FaultList();
    faults.add(parseRule({ kind: 'lose-answer', times: 2 }));
    faults.add(parseRule({ kind: 'status' }));
    const kinds = [1, 2, 3, 4].map(() => faults.take('GET', '/')?.kind);
    expect(kinds).toEqual(['lose-answer', 'lose-answer', 'status', undefined]);
    expect(faults.list().map((rule) => rule.remaining)).toEqual([0, 0]);
  });
});

test('a rule has defaults', () => {
  expect(parseRule({ kind: 'delay' })).toEqual({
    match: {},
    kind: 'delay',
    times: 1,
    ms: 0,
    status: 503,
    share: 0.5,
    keepAlive: true,
    when: 'after',
  });
});

test.each([
  [null, /must be a JSON object/],
  [[], /must be a JSON object/],
  [{}, /"kind" must be one of/],
  [{ kind: 'explode' }, /"kind" must be one of/],
  [{ kind: 'delay', milliseconds: 5 }, /unknown field "milliseconds"/],
  [{ kind: 'delay', ms: -1 }, /"ms" must be a whole number/],
  [{ kind: 'delay', times: 0 }, /"times" must be a whole number/],
  [{ kind: 'delay', times: '2' }, /"times" must be a whole number/],
  [{ kind: 'status', status: 99 }, /"status" must be a whole number/],
  [{ kind: 'mid-answer', share: 1.5 }, /"share" must be a number from 0 to 1/],
  [{ kind: 'mid-answer', share: '1' }, /"share" must be a number from 0 to 1/],
  [{ kind: 'status', retryAfter: 0.5 }, /"retryAfter" must be a whole number/],
  [{ kind: 'status', location: 'a\r\nb: c' }, /"location" must be a path/],
  [{ kind: 'delay', keepAlive: 'no' }, /"keepAlive" must be true or false/],
  [{ kind: 'kill-app', when: 'during' }, /"when" must be one of/],
  [{ kind: 'delay', match: { path: 'checkout' } }, /"match.path" must be a path/],
  [{ kind: 'delay', match: { path: '/a?b=1' } }, /"match.path" must be a path/],
  [{ kind: 'delay', match: { method: 1 } }, /"match.method" must be a string/],
  [{ kind: 'delay', match: { visitor: 'a b' } }, /"match.visitor" must be the mark/],
  [{ kind: 'delay', forMs: 0 }, /"forMs" must be a whole number/],
  [{ kind: 'delay', match: { url: '/' } }, /unknown field "url"/],
])('refuses %j', (body, sentence) => {
  expect(() => parseRule(body)).toThrow(FaultInputError);
  expect(() => parseRule(body)).toThrow(sentence);
});

test('the keep-alive switch wants a boolean', () => {
  expect(parseKeepAlive({ enabled: false })).toBe(false);
  expect(() => parseKeepAlive({})).toThrow(/"enabled" must be true or false/);
});

test('the log keeps the last 1,000 requests', () => {
  const log = new RequestLog();
  const req = { method: 'GET', url: '/', headers: {}, socket: new Socket() } as IncomingMessage;
  for (let i = 0; i < 1005; i++) log.open(req, null);
  expect(log.list()).toHaveLength(1000);
  expect(log.list()[0]).toMatchObject({ id: 6, connection: 1, onConnection: 6 });
});

describe("one visitor's rule", () => {
  const ofVisitor = (more = {}) => parseRule({ kind: 'delay', match: { visitor: 'ada-1' }, times: 9, ...more });

  test('hits nobody else', () => {
    const faults = new FaultList();
    faults.add(ofVisitor());
    expect(faults.take('GET', '/')).toBeUndefined();
    expect(faults.take('GET', '/', { visitor: 'bob-1' })).toBeUndefined();
    expect(faults.take('GET', '/', { visitor: 'ada-1' })).toBeDefined();
  });

  test('heals by itself', () => {
    const faults = new FaultList();
    faults.add(ofVisitor({ forMs: 100 }), 1000);
    expect(faults.take('GET', '/', { visitor: 'ada-1', now: 1099 })).toBeDefined();
    expect(faults.take('GET', '/', { visitor: 'ada-1', now: 1100 })).toBeUndefined();
    faults.add(parseRule({ kind: 'status' }), 1100);
    expect(faults.list()).toMatchObject([{ kind: 'status' }]);
  });

  test('is cleared without those of others', () => {
    const faults = new FaultList();
    faults.add(ofVisitor());
    faults.add(parseRule({ kind: 'status' }));
    faults.clear('ada-1');
    expect(faults.list()).toMatchObject([{ kind: 'status' }]);
  });

  test.each([
    ['a=1; oncekit_lab=ada-1; b=2', 'ada-1'],
    ['oncekit_lab=', null],
    ['oncekit_lab=<script>', null],
    ['not_oncekit_lab=ada-1', null],
    [undefined, null],
  ])('is told by the cookie %j: %j', (cookies, visitor) => {
    expect(visitorOf(cookies)).toBe(visitor);
  });
});
