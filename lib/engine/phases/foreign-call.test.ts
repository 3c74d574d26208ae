import { expect, test } from 'vitest';
import { ConfigurationError } from '../../core/errors.ts';
import { stripeCall } from '../../stripe/call.ts';
import { assertForeignCall, type ForeignCall } from './context.ts';

const DAY = 86_400_000;
const call: ForeignCall<null, string> = { arguments: null, indeterminate: 'retry', send: async () => 'ch_1' };
const assert = (more: object) => assertForeignCall('charged', { ...call, ...more }, 3 * DAY);

test.each<[string, unknown]>([
  ['send', 'no function'],
  ['lookup', true],
  ['fromReference', 'ch_1'],
  ['judge', {}],
  ['indeterminate', 'never'],
  ['dependency', ''],
  ['compensates', ''],
  ['compensates', true],
  ['needsCompensation', 'no'],
  ['settleMs', -1],
  ['settleMs', Number.NaN],
  ['timeoutMs', 0],
  ['maxTries', 0],
  ['maxTries', 1.5],
  ['providerKeyTtlMs', -1],
  ['providerKeyTtlMs', 3 * DAY + 1],
  ['version', 0],
  ['version', 1.5],
  ['upcasts', { 1: (old: unknown) => old }],
  ['upcasts', { 1: { argument: (old: unknown) => old } }],
  ['upcasts', { 1: { result: 'ch_1' } }],
])('a call is refused whose `%s` is %j, and told by its name', (option, value) => {
  const thrown = expect.objectContaining({ message: expect.stringMatching(new RegExp(`${option}.*charged`)) });
  expect(() => assert({ [option]: value })).toThrow(thrown);
  expect(() => assert({ [option]: value })).toThrow(ConfigurationError);
});

test('an option that is none is refused with the nearest one', () => {
  expect(() => assert({ lookUp: async () => 'absent' })).toThrow(/`lookUp`.*Write `lookup`/);
});

test('what may be given is taken, also undefined and the limits', () => {
  assert({});
  assert({
    settleMs: 0,
    timeoutMs: 1,
    maxTries: 1,
    providerKeyTtlMs: 3 * DAY,
    dependency: 'cards',
    compensates: 'charged',
    needsCompensation: () => true,
  });
  assert({ lookup: undefined, judge: undefined, fromReference: undefined, settleMs: undefined, maxTries: undefined });
  assert({ version: 2, upcasts: { 1: { arguments: (old: unknown) => old, result: undefined } } });
  assertForeignCall('charged', stripeCall({ arguments: null, send: async () => 'ch_1' }), DAY);
});
