import { describe, expect, test } from 'vitest';
import { IllegalTransitionError } from './errors.ts';
import { assertTransition, isSettled, KEY_STATES, type KeyStateOrAbsent } from './key-state.ts';

/** The contract's S1–S5, written down again: a change of the table must be a change of the contract too. */
const LEGAL = [
  'absent -> in_progress', // S1
  'absent -> abandoned', // S5
  'in_progress -> succeeded', // S1
  'in_progress -> failed', // S1
  'in_progress -> in_progress', // S3, under a higher token
  'in_progress -> unknown', // S4
  'unknown -> in_progress', // S4
  'unknown -> failed', // S4
];

const FROM: KeyStateOrAbsent[] = ['absent', ...KEY_STATES];
const PAIRS = FROM.flatMap((from) => KEY_STATES.map((to) => ({ from, to, legal: LEGAL.includes(`${from} -> ${to}`) })));

describe('S the table of transitions', () => {
  test('S there are five states', () => {
    expect(KEY_STATES).toEqual(['in_progress', 'succeeded', 'failed', 'unknown', 'abandoned']);
    expect(PAIRS.filter(({ legal }) => legal)).toHaveLength(LEGAL.length);
  });

  test.each(PAIRS)('S $from -> $to is legal: $legal', ({ from, to, legal }) => {
    if (legal) expect(() => assertTransition(from, to)).not.toThrow();
    else expect(() => assertTransition(from, to)).toThrow(IllegalTransitionError);
  });

  test.each([
    ['absent', false],
    ['in_progress', false],
    ['unknown', false],
    ['succeeded', true],
    ['failed', true],
    ['abandoned', true],
  ] as const)('S %s is settled: %s', (state, settled) => {
    expect(isSettled(state)).toBe(settled);
  });

  test('S an illegal transition says where it stood and what would have been legal', () => {
    expect(() => assertTransition('unknown', 'abandoned')).toThrow(
      expect.objectContaining({ existing: 'unknown', expected: ['in_progress', 'failed'] }),
    );
  });
});
