import { expect, test } from 'vitest';
import { encodeAnswer } from '../engine/answer.ts';
import { redactAnswer } from './redaction.ts';

test('shows names and types, and no value', () => {
  const data = {
    id: 'c0ffee',
    total: 12n,
    paid: true,
    at: new Date(0),
    to: { street: '1 Secret Lane', tags: ['a', 'b'] },
    byEmail: new Map([['ada@example.com', 1]]),
    none: null,
  };
  expect(redactAnswer(encodeAnswer({ kind: 'data', data }))).toEqual({
    kind: 'data',
    shape: {
      id: 'string',
      total: 'bigint',
      paid: 'boolean',
      at: 'Date',
      to: { street: 'string', tags: 'list of 2' },
      byEmail: 'Map of 1',
      none: 'null',
    },
  });
});

test('of a refusal shows reason, status and what it says of the effect, not the words for the person', () => {
  const stored = encodeAnswer({
    kind: 'refusal',
    reason: 'blocked',
    message: 'Ada is blocked',
    status: 409,
    data: 'Ada',
    executed: false,
  });
  const shown = { kind: 'refusal', reason: 'blocked', status: 409, executed: false, shape: 'string' };
  expect(redactAnswer(stored)).toEqual(shown);
});

test('a redirect hides its target', () => {
  const stored = encodeAnswer({ kind: 'redirect', redirect: { url: '/x?token=secret', type: 'push', status: 303 } });
  expect(JSON.stringify(redactAnswer(stored))).not.toContain('secret');
});

test('an erased and a damaged answer are told apart', () => {
  expect(redactAnswer(null)).toEqual({ kind: 'erased' });
  expect(redactAnswer('{')).toEqual({ kind: 'unreadable' });
});

test('a very wide answer is cut', () => {
  const data = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field${n}`, n]));
  const redacted = redactAnswer(encodeAnswer({ kind: 'data', data }));
  expect(redacted).toMatchObject({ shape: { '…': '70 more' } });
});
