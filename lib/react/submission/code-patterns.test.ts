import { expect, test } from 'vitest';
import { type Code, MEANINGS } from '../../core/codes.ts';
import { refuse } from '../../core/outcome.ts';
import { applyOutcome, createState } from './machine.ts';

const IN_DOUBT = { ...createState<string>('k1'), attempt: 2, doubt: true };
const SENT_ONCE = { ...createState<string>('k1'), attempt: 1 };

/** The status after a code of this meaning, and the same where an earlier attempt had no answer. */
type Meaning = (typeof MEANINGS)[Code];

const STATUSES: Record<Meaning, [string, string]> = {
  settled: ['hasErrored', 'hasErrored'],
  running: ['checking', 'checking'],
  mismatch: ['checking', 'checking'],
  transient: ['unknown', 'unknown'],
  unacceptable: ['hasErrored', 'unknown'],
  attempt: ['hasErrored', 'unknown'],
};

test.each(Object.entries(MEANINGS) as [Code, Meaning][])(
  'B5 %s: the patterns of the first load say %s, too',
  (code, meaning) => {
    const statuses = [SENT_ONCE, IN_DOUBT].map((state) => applyOutcome(state, refuse(code)).status);
    expect(statuses).toEqual(STATUSES[meaning]);
  },
);
