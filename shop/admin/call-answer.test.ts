import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { expect, test } from 'vitest';
import { callAnswers, leavesDoubt } from './call-answer.ts';

const at = new Date('2026-11-29T22:44:10Z');
const call: PhaseView = {
  name: 'charged',
  position: 1,
  kind: 'foreign',
  state: 'started',
  sends: 1,
  notExecuted: 0,
  derivedKey: 'k',
  firstSentAt: at,
  finishedAt: null,
  verdict: null,
  reference: null,
  amount: null,
  knownBy: null,
  result: null,
};
const done = { state: 'done', finishedAt: at } as const;
const answered = { ...done, reference: 'pi_1', amount: '$9.00', knownBy: 'answer' } as const;

/** What is said of one call of a key that has failed for this reason, succeeded, or is open. */
function said(
  step: Partial<PhaseView>,
  ended: string | 'succeeded' | 'open',
  events: Partial<KeyDetail['events'][number]>[] = [],
) {
  const [answer] = answersOf(step, ended, events);
  return { title: answer?.title, effects: answer?.effects.length, notes: answer?.notes.map(({ words }) => words) };
}

function answersOf(...[step, ended, events = []]: Parameters<typeof said>) {
  const isRefused = ended !== 'succeeded' && ended !== 'open';
  return callAnswers(
    {
      state: isRefused ? 'failed' : ended === 'open' ? 'unknown' : 'succeeded',
      settledAt: ended === 'open' ? null : at,
      answer: isRefused ? { kind: 'refusal', reason: ended, status: 402, shape: 'undefined' } : null,
      isForgotten: ended === 'succeeded' && step.reference === null,
      phases: [{ ...call, ...step }],
      events: events.map(
        (event) => ({ at, actor: 'eve', detail: { step: 'charged' }, ...event }) as KeyDetail['events'][number],
      ),
    },
    { verbs: { charged: 'charged' } },
  );
}
const given = { type: 'verdict', detail: { step: 'charged', verdict: 'failed' } } as const;
const proof = (reference: string) =>
  ({ type: 'evidence', actor: 'stripe', detail: { step: 'charged', reference } }) as const;

test.each<[string, ReturnType<typeof said>, ReturnType<typeof said>]>([
  ['a receipt', said(answered, 'succeeded'), { title: 'Charged once', effects: 1, notes: [] }],
  ['its proof besides', said(answered, 'succeeded', [proof('pi_1')]), { title: 'Charged once', effects: 1, notes: [] }],
  ['another proof', said(answered, 'succeeded', [proof('pi_2')]), { title: 'Charged twice', effects: 2, notes: [] }],
  [
    'an answer that was erased',
    said({ ...answered, reference: null, amount: null }, 'succeeded'),
    { title: 'Charged once', effects: 1, notes: ['What it was is erased'] },
  ],
  [
    'a decline that a look-up has found',
    said({ ...done, knownBy: 'lookup' }, 'card_declined'),
    {
      title: 'Answered, without a receipt',
      effects: 0,
      notes: ['found by asking the provider', 'It ended in a refusal (card_declined)'],
    },
  ],
  [
    'a decline',
    said({ notExecuted: 1 }, 'card_declined'),
    { title: 'Not charged', effects: 0, notes: ['Refused by the provider (card_declined)'] },
  ],
  [
    'a decline behind a send that nobody knows',
    said({ sends: 2, notExecuted: 1 }, 'card_declined'),
    {
      title: 'Not known since',
      effects: 0,
      notes: ['Refused by the provider (card_declined)', 'What became of a send before that is not known'],
    },
  ],
  [
    'a word of a person, of what had proved to do nothing',
    said({ notExecuted: 1 }, 'marked_failed', [given]),
    { title: 'Not charged', effects: 0, notes: ['Given up by eve. Each send had proved that nothing was done'] },
  ],
  ['no answer', said({}, 'open'), { title: 'Not known since', effects: 0, notes: [] }],
  ['sends that did nothing', said({ notExecuted: 1 }, 'open'), { title: 'Not charged so far', effects: 0, notes: [] }],
])('of %s it is said what is known, and no more', (_, is, expected) => {
  expect(is).toEqual(expected);
});

test.each<[string, boolean, Parameters<typeof said>]>([
  ['a receipt', false, [answered, 'succeeded']],
  [
    'a receipt behind "send it again"',
    true,
    [answered, 'succeeded', [{ ...given, detail: { ...given.detail, verdict: 'retry' } }]],
  ],
  ['a second proof', true, [answered, 'succeeded', [proof('pi_2')]]],
  ['a decline', false, [{ notExecuted: 1 }, 'card_declined']],
  ['a decline that a look-up has found', false, [{ ...done, knownBy: 'lookup' }, 'card_declined']],
  ['a decline behind a send that nobody knows', true, [{ sends: 2, notExecuted: 1 }, 'card_declined']],
])('%s leaves a doubt: %s', (_, isDoubt, how) => {
  expect(answersOf(...how).map(leavesDoubt)).toEqual([isDoubt]);
});

test('a charge whose receipt is gone is counted with a payment that nobody expected, and never called once without its doubt', () => {
  const events = [{ at, actor: 'eve', type: 'verdict', detail: { step: 'charged', verdict: 'retry' } }];
  const key = { state: 'succeeded', settledAt: at, answer: null, isForgotten: true } as const;
  const besides = { charged: [{ reference: 'pi_2', amount: '$9.00', known: [] }] };
  const whole = { ...key, phases: [{ ...call, ...done }], events: [] };
  const options = { verbs: { charged: 'charged' }, besides };
  expect(callAnswers(whole, options)).toMatchObject([{ title: 'Charged twice', tone: 'bad' }]);
  const again = callAnswers({ ...whole, events: events as KeyDetail['events'] }, { nameOf: () => 'our staff' });
  expect(again).toMatchObject([
    { tone: 'warn', notes: [{}, { words: expect.stringContaining('since our staff asked') }] },
  ]);
});
