import { beforeEach, expect, test } from 'vitest';
import { renewStatementNames, statementName } from './user-statements.ts';

beforeEach(renewStatementNames);

const use = (text: string, times: number) => Array.from({ length: times }, () => statementName(text)).at(-1);

test('a statement has a name from its third use on, the same one each time', () => {
  expect(use('SELECT 1', 2)).toBeUndefined();
  const name = use('SELECT 1', 1);
  expect(name).toMatch(/^oncekit_user\d+_[0-9a-f]{16}$/);
  expect([use('SELECT 1', 5), use('SELECT 2', 3) === name]).toEqual([name, false]);
});

test('300 have one at most, however many come once', () => {
  for (let n = 0; n < 5000; n++) use(`once ${n}`, 1);
  const named = Array.from({ length: 400 }, (_, n) => use(`again ${n}`, 3)).filter(Boolean);
  expect([named.length, new Set(named).size]).toEqual([300, 300]);
  expect(use('again 0', 1)).toBe(named[0]);
});

test('renewed, none has the name of before', () => {
  const before = use('SELECT 1', 3);
  renewStatementNames();
  expect(use('SELECT 1', 2)).toBeUndefined();
  expect([undefined, before]).not.toContain(use('SELECT 1', 1));
});
