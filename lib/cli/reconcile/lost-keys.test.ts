import { afterEach, expect, test, vi } from 'vitest';
import { enterAll, leftOf, listing, lookUpAll } from './lost-keys.ts';

type Reconciled = Parameters<typeof leftOf>[0];

const named = (key: string) => ({ operation: 'pay', tenant: 'acme', principal: 'ann', key, payload: {} });
afterEach(() => vi.restoreAllMocks());

test('each key that can be entered is asked about, and entered where a person agrees', async () => {
  const entered: string[] = [];
  const lost = (key: string): Reconciled => ({
    named: named(key),
    state: {
      kind: 'lost',
      calls: [{ name: 'charged', answer: 'found' }],
      receivedEvents: [],
      enter: async (actor) => {
        entered.push(`${key} by ${actor}`);
        return { kind: 'entered', state: 'succeeded' };
      },
    },
  });
  const nobody: Reconciled = {
    named: named('c'),
    state: { kind: 'lost', calls: [{ name: 'charged', answer: 'absent' }], receivedEvents: [] },
  };
  const known: Reconciled = { named: named('d'), state: { kind: 'known', state: 'succeeded' } };
  const [questions, told]: [string[], string[]] = [[], []];
  const keys = [lost('a'), lost('b'), nobody, known];
  const ask = async (question: string) => questions.push(question) === 2;
  await enterAll(keys, 'eve', { ask, tell: (line) => told.push(line) });
  expect(questions).toEqual(['a', 'b'].map((key) => `Enter ${key} of pay (charged: found)? [y/N] `));
  expect(entered).toEqual(['b by eve']);
  expect(told).toEqual(['b: entered: succeeded']);
  expect(keys.map(leftOf)).toEqual(['not entered', undefined, undefined, undefined]);
});

test('a line of the file begins none of the list', () => {
  const forging = { ...named('k'), principal: 'ann\nk2  pay  bob  succeeded' };
  const orphan = { id: 'e', source: 'shop\ne2  shop', receivedAt: new Date() };
  const said = listing([{ named: forging, state: { kind: 'running' } }], [orphan]);
  expect(said.split('\n').map((line) => line.split(/ +/)[0])).toEqual(['KEY', 'k', 'Received', 'EVENT', 'e']);
});

test('a list that takes long says how far it is', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const told: string[] = [];
  const lookUp = async () => {
    now += 3000;
    return { kind: 'running' } as const;
  };
  expect(await lookUpAll(['a', 'b', 'c', 'd'].map(named), lookUp, (line) => told.push(line))).toHaveLength(4);
  expect(told).toEqual(['Looked up 2 of 4 …', 'Looked up 4 of 4 …']);
});
