import { expect, test } from 'vitest';
import { nextMove, type Situation } from './foreign.ts';

const DAY = 86_400_000;
const sent: Situation = {
  indeterminate: 'retry',
  canLookUp: true,
  providerKeyTtlMs: DAY,
  settleMs: 60_000,
  sinceFirstSentMs: 1000,
  sinceLastSentMs: 1000,
  tookOver: true,
  mustLookUp: false,
  answered: undefined,
};
const never = { sinceFirstSentMs: null, sinceLastSentMs: null };
const settled = { sinceLastSentMs: 60_000 };
const keyless = { providerKeyTtlMs: 0 };

test.each<[string, Partial<Situation>, ReturnType<typeof nextMove>]>([
  ['never sent', never, 'send'],
  ['never sent, nobody to ask', { ...never, ...keyless, indeterminate: 'unknown', canLookUp: false }, 'send'],
  ['sent, and the provider remembers the key', {}, 'send'],
  ['sent, and a send cannot tell', { mustLookUp: true }, 'look up'],
  ['sent, a send cannot tell, nobody to ask', { mustLookUp: true, canLookUp: false }, 'give up'],
  ['an hour before the provider forgets', { sinceFirstSentMs: DAY - 3_600_000 }, 'look up'],
  ['a little earlier', { sinceFirstSentMs: DAY - 3_600_001 }, 'send'],
  ['a short memory keeps a tenth', { providerKeyTtlMs: 10_000, sinceFirstSentMs: 9000 }, 'look up'],
  ['forgotten, nobody to ask', { sinceFirstSentMs: 2 * DAY, canLookUp: false }, 'give up'],
  ['ask first', { indeterminate: 'lookup' }, 'look up'],
  ['neither', { indeterminate: 'unknown' }, 'give up'],
  ['neither, but a person says that it can be found', { indeterminate: 'unknown', mustLookUp: true }, 'look up'],
  [
    'neither, and it was not found',
    { indeterminate: 'unknown', mustLookUp: true, answered: 'absent', ...settled },
    'give up',
  ],
  ['pending', { indeterminate: 'lookup', answered: 'pending' }, 'ask later'],
  ['absent, too early to count', { indeterminate: 'lookup', answered: 'absent' }, 'ask later'],
  ['absent', { ...settled, answered: 'absent' }, 'send'],
  ['P3 absent, no keys, another executor may have sent it', { ...settled, ...keyless, answered: 'absent' }, 'give up'],
  ['absent, no keys, only we have sent it', { ...settled, ...keyless, answered: 'absent', tookOver: false }, 'send'],
])('%s', (_, situation, move) => {
  expect(nextMove({ ...sent, ...situation })).toBe(move);
});
