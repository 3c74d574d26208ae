import { describe, expect, test } from 'vitest';
import { isRemembered, nextMove, type Situation } from './foreign.ts';

const sent: Situation = {
  indeterminate: 'retry',
  canLookUp: true,
  verdict: undefined,
  mayBeDone: true,
  isRemembered: true,
  isUnderWay: true,
  isRefused: false,
  mustLookUp: false,
  answered: undefined,
  sinceLastSentMs: 1000,
  settleMs: 60_000,
};
const absent = { answered: 'absent', sinceLastSentMs: 60_000 } as const;
const keyless = { isRemembered: false };
const [unknown, lookup] = [{ indeterminate: 'unknown' } as const, { indeterminate: 'lookup' } as const];
const nobody = { canLookUp: false };

test.each<[string, Partial<Situation>, ReturnType<typeof nextMove>]>([
  ['never sent', { mayBeDone: false }, 'send'],
  ['never sent, nobody to ask', { mayBeDone: false, ...keyless, ...unknown, ...nobody }, 'send'],
  ['sent, and the provider remembers the key', {}, 'send'],
  ['sent, and a send cannot tell', { mustLookUp: true }, 'look up'],
  ['sent, a send cannot tell, nobody to ask', { mustLookUp: true, ...nobody }, 'give up'],
  ['forgotten', keyless, 'look up'],
  ['forgotten, nobody to ask', { ...keyless, ...nobody }, 'give up'],
  ['ask first', lookup, 'look up'],
  ['never again', unknown, 'look up'],
  ['never again, nobody to ask', { ...unknown, ...nobody }, 'give up'],
  ['never again, and it was not found', { ...unknown, ...absent }, 'give up'],
  ['pending', { answered: 'pending' }, 'ask later'],
  ['absent, too early to count', { answered: 'absent' }, 'ask later'],
  ['absent', absent, 'send'],
  ['P3 absent, no keys, and a send may be under way', { ...keyless, ...absent }, 'give up'],
  ['absent, no keys, and no send is under way', { ...keyless, ...absent, isUnderWay: false }, 'send'],
  ['refused', { mayBeDone: false, isRefused: true }, 'refuse'],
  ['refused, and an earlier send is in doubt', { isRefused: true }, 'look up'],
  ['the same, nobody to ask', { isRefused: true, ...nobody }, 'give up'],
  ['the same, absent too early to count', { isRefused: true, answered: 'absent' }, 'ask later'],
  ['the same, absent', { isRefused: true, ...absent }, 'refuse'],
  ['the same, absent, and without keys a send may be under way', { isRefused: true, ...absent, ...keyless }, 'give up'],
  ['a person says that it went through', { verdict: 'succeeded' }, 'look up'],
  ['the same, of sends that proved that nothing was done', { verdict: 'succeeded', mayBeDone: false }, 'look up'],
  ['the same, and it is not found', { verdict: 'succeeded', ...absent }, 'give up'],
  ['the same, nobody to ask', { verdict: 'succeeded', ...nobody }, 'give up'],
  ['a person says "send it again"', { verdict: 'retry', ...unknown, ...keyless }, 'look up'],
  ['the same, and it is not found', { verdict: 'retry', ...unknown, ...keyless, answered: 'absent' }, 'send'],
  ['the same, nobody to ask', { verdict: 'retry', ...unknown, ...keyless, ...nobody }, 'send'],
  ['the same, of a refusal', { verdict: 'retry', isRefused: true, ...nobody }, 'send'],
])('%s', (_, situation, move) => {
  expect(nextMove({ ...sent, ...situation })).toBe(move);
});

describe('P2 of all situations', () => {
  const both = [true, false];
  const values: { [name in keyof Situation]: readonly Situation[name][] } = {
    indeterminate: ['retry', 'lookup', 'unknown'],
    canLookUp: both,
    verdict: [undefined, 'succeeded', 'retry'],
    mayBeDone: both,
    isRemembered: both,
    isUnderWay: both,
    isRefused: both,
    mustLookUp: both,
    answered: [undefined, 'absent', 'pending'],
    sinceLastSentMs: [59_999, 60_000],
    settleMs: [60_000],
  };
  const all = Object.entries(values).reduce<object[]>(
    (some, [name, each]) => some.flatMap((one) => each.map((value) => ({ ...one, [name]: value }))),
    [{}],
  ) as Situation[];
  const moves = all.map((now) => ({ now, move: nextMove(now) }));
  const isSettledAbsent = (now: Situation) => now.answered === 'absent' && now.sinceLastSentMs >= now.settleMs;
  const isDoubtful = (now: Situation) => now.mayBeDone && !(isSettledAbsent(now) && !now.isUnderWay);
  const none: unknown[] = [];

  test('what may have happened and is not remembered is sent again at a person’s word alone', () => {
    const sends = moves.filter(({ now, move }) => move === 'send' && isDoubtful(now) && !now.isRemembered);
    expect(sends.length).toBeGreaterThan(0);
    expect(sends.filter(({ now }) => now.verdict !== 'retry')).toEqual(none);
    expect(sends.filter(({ now }) => now.canLookUp && now.answered !== 'absent')).toEqual(none);
  });

  test('what a person says went through is never sent, nor refused', () => {
    const judged = moves.filter(({ now }) => now.verdict === 'succeeded');
    expect(judged.filter(({ move }) => move === 'send' || move === 'refuse')).toEqual(none);
  });

  test('what was refused is sent again at a person’s word alone, and is the end only of what is in no doubt', () => {
    const refused = moves.filter(({ now }) => now.isRefused);
    expect(refused.filter(({ now, move }) => move === 'send' && now.verdict !== 'retry')).toEqual(none);
    const ends = moves.filter(({ move }) => move === 'refuse');
    expect(ends.filter(({ now }) => !now.isRefused || (isDoubtful(now) && !now.isRemembered))).toEqual(none);
    expect(ends.filter(({ now }) => now.mayBeDone && !isSettledAbsent(now))).toEqual(none);
  });

  test('`unknown` never sends what may have happened by itself, and where one can ask, one asks before giving up', () => {
    const sends = moves.filter(({ now, move }) => move === 'send' && now.indeterminate === 'unknown' && now.mayBeDone);
    expect(sends.filter(({ now }) => now.verdict !== 'retry')).toEqual(none);
    const given = moves.filter(({ move }) => move === 'give up');
    expect(given.filter(({ now }) => now.canLookUp && now.answered === undefined)).toEqual(none);
  });
});

const DAY = 86_400_000;

test.each<[string, Parameters<typeof isRemembered>, boolean]>([
  ['an hour and a bit before it forgets', [DAY - 3_600_001, 3_600_001, DAY], true],
  ['an hour before it forgets', [DAY - 3_600_000, 3_600_000, DAY], false],
  ['a short memory keeps a tenth', [9000, 1000, 10_000], false],
  ['some send had no key', [1000, null, DAY], false],
  ['the next one would have none', [1000, DAY, 0], false],
  ['the call says a shorter time now', [7000, DAY, 7500], false],
  ['the call says a longer time now', [9000, 1000, DAY], false],
])('isRemembered: %s', (_, given, answer) => {
  expect(isRemembered(...given)).toBe(answer);
});
