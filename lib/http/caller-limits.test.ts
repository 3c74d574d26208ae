import { expect, test } from 'vitest';
import { callerLimits } from './caller-limits.ts';

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
