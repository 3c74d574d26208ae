import { describe, expect, test } from 'vitest';
import { parseKey } from '../core/key.ts';
import { callerLimits, keyOfHeader } from './request-headers.ts';

const isMalformed = (header: string, strict?: boolean) =>
  parseKey(keyOfHeader(header, strict) ?? '').shape === 'malformed';

describe('K1 the Idempotency-Key header', () => {
  test.each([
    ['"abc"', 'abc'],
    [' "abc" ', 'abc'],
    ['abc', 'abc'],
    ['"a\\\\b"', 'a\\b'],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ])('%s is the key %s', (header, key) => {
    expect(keyOfHeader(header)).toBe(key);
  });

  test('none is none', () => {
    expect(keyOfHeader(null)).toBeNull();
  });

  test.each([
    '',
    '""',
    '"a',
    'a"',
    '"a" "b"',
    '"a", "b"',
    'a, b',
    'a,b',
    '"a,b"',
    '"a b"',
    'a b',
    '"a\\b"',
    '"a";p=1',
    'é',
    `"${'a'.repeat(256)}"`,
  ])('%s is malformed', (header) => {
    expect(isMalformed(header)).toBe(true);
  });

  test('the bare token is malformed where the header is strict', () => {
    expect(isMalformed('abc', true)).toBe(true);
    expect(keyOfHeader('"abc"', true)).toBe('abc');
  });
});

test.each([
  [{}, { innerRetries: true }],
  [{ 'X-Request-Timeout': '2000' }, { deadlineMs: 2000, innerRetries: true }],
  [{ 'X-Request-Timeout': '0' }, { deadlineMs: 0, innerRetries: true }],
  [{ 'X-Request-Timeout': '999999999999' }, { deadlineMs: 600_000, innerRetries: true }],
  [{ 'X-Request-Timeout': 'soon' }, { innerRetries: true }],
  [{ 'X-Request-Timeout': '-1' }, { innerRetries: true }],
  [{ 'X-Retry-Layer': 'None' }, { innerRetries: false }],
  [{ 'X-Retry-Layer': 'client' }, { innerRetries: true }],
])('H4 %j', (headers, limits) => {
  expect(callerLimits(new Headers(headers as Record<string, string>))).toEqual(limits);
});
