import { describe, expect, test } from 'vitest';
import { refuse } from '../core/outcome.ts';
import { readActionCall } from './action-call.ts';

function formOf(fields: Record<string, string | Blob>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

const form = formOf({ idempotency_key: 'k1', sku: 'tea' });
const success = { ok: true, data: { id: 1 }, replayed: false, key: 'k0', nextKey: 'k1' };

describe('a form', () => {
  test('alone: the key is its field, the payload is the form itself', () => {
    const call = readActionCall([form]);
    expect(call).toMatchObject({ key: 'k1', context: [], attempt: undefined });
    expect(call.payload).toBe(form);
  });

  test.each([
    ['null', null],
    ['undefined', undefined],
    ['a success', success],
    ['a refusal', refuse('validation', { executed: false })],
  ])('behind the previous state, %s, which is no part of the intent', (_, previous) => {
    expect(readActionCall([previous, form])).toEqual(readActionCall([form]));
  });

  test('F1 bound arguments before it count, with and without the previous state, in their order', () => {
    expect(readActionCall(['order-1', 2, form]).context).toEqual(['order-1', 2]);
    expect(readActionCall(['order-1', 2, null, form]).context).toEqual(['order-1', 2]);
    expect(readActionCall(['order-1', 2, success, form]).context).toEqual(['order-1', 2]);
  });

  test('F1 only the last argument before the form can be the previous state', () => {
    expect(readActionCall([null, null, form]).context).toEqual([null]);
    expect(readActionCall([success, null, form]).context).toEqual([success]);
  });

  test.each([{ id: 7 }, { ok: 'yes' }, [], '', 0, false])(
    'F1 a bound %j is not taken for a previous state',
    (bound) => {
      expect(readActionCall([bound, form]).context).toEqual([bound]);
    },
  );

  // A known gap: anything with a boolean `ok` passes for an outcome. Make this a plain `test` with the mend.
  test('F1 a bound object that only happens to have an `ok` counts', () => {
    const bound = { ok: true, order: 1 };
    expect(readActionCall([bound, form]).context).toEqual([bound]);
  });

  test('without a key, or with a file in its place, there is none', () => {
    expect(readActionCall([formOf({ sku: 'tea' })]).key).toBeUndefined();
    expect(readActionCall([formOf({ idempotency_key: new Blob(['k1']) })]).key).toBeUndefined();
  });

  test.each([
    ['2', 2],
    ['17', 17],
    ['1', 1],
    ['', undefined],
    ['0', undefined],
    ['-1', undefined],
    ['two', undefined],
    ['1.5', undefined],
    ['Infinity', undefined],
  ])('the attempt field %j is attempt %j', (text, attempt) => {
    expect(readActionCall([formOf({ idempotency_key: 'k1', idempotency_attempt: text })]).attempt).toBe(attempt);
  });
});

describe('from code', () => {
  const input = { sku: 'tea' };

  test('the input, then the key and the attempt', () => {
    expect(readActionCall([input, { key: 'k1' }])).toEqual({ key: 'k1', payload: input, context: [] });
    expect(readActionCall([input, { key: 'k1', attempt: 3 }])).toMatchObject({ key: 'k1', attempt: 3 });
  });

  test.each([
    ['a long text', 'x'.repeat(300_000)],
    ['line breaks', '2\n[oncekit] all is well'],
    ['0', 0],
    ['a fraction', 1.5],
    ['no number', Number.NaN],
    ['no end', Number.POSITIVE_INFINITY],
    ['a list', [2]],
    ['an object', { toString: () => '2' }],
    ['null', null],
  ])('N3 an attempt that is %s is none: it would stand in the log', (_, attempt) => {
    expect(readActionCall([input, { key: 'k1', attempt }]).attempt).toBeUndefined();
  });

  test('F1 bound arguments before the input count', () => {
    expect(readActionCall(['order-1', null, input, { key: 'k1' }])).toMatchObject({
      key: 'k1',
      payload: input,
      context: ['order-1', null],
    });
  });

  test.each([[[]], [[{ key: 'k1' }]], [[input, null]], [[input, 'k1']]])('%j has no key and throws nothing', (args) => {
    expect(readActionCall(args).key).toBeUndefined();
  });
});
