import { expect, test } from 'vitest';
import { refuse } from '../core/outcome.ts';
import { bracketErrors, nestErrors } from './field-errors.ts';

const refused = (fieldErrors: Record<string, string[]>) => refuse('validation', { executed: false, fieldErrors });
const message = (words: string) => ({ type: 'server', message: words });

test.each([
  ['dots', 'lines.1.notes.0.text'],
  ['brackets', 'lines[1].notes[0].text'],
])('errors by paths in %s are nested as the values are', (_, path) => {
  const notes = [{ text: message('Too long. Too loud.') }];
  expect(nestErrors(refused({ [path]: ['Too long.', 'Too loud.'], name: ['Missing.'] }))).toEqual({
    name: message('Missing.'),
    lines: [undefined, { notes }],
  });
});

test('errors of no field are those of the form', () => {
  const outcome = refused({ '': ['Too late.'] });
  expect(nestErrors(outcome)).toEqual({ root: message('Too late.') });
  expect(bracketErrors(outcome)).toEqual({ form: 'Too late.', fields: {} });
});

test('a list may be refused as a whole, and one of its rows too', () => {
  const nested = nestErrors(refused({ lines: ['Too few.'], 'lines.0.sku': ['Unknown.'] }));
  expect(nested).toHaveProperty('lines.message', 'Too few.');
  expect(nested).toHaveProperty('lines.0.sku', message('Unknown.'));
});

test.each([
  ['lines.1.sku', 'lines[1].sku'],
  ['lines[1].sku', 'lines[1].sku'],
  ['grid.0.1', 'grid[0][1]'],
  ['to.street2', 'to.street2'],
  ['by.2026q1', 'by.2026q1'],
  ['tags[]', 'tags[]'],
])('%s is %s in brackets', (name, path) => {
  expect(bracketErrors(refused({ [name]: ['No.'] }))).toEqual({ fields: { [path]: 'No.' } });
});

test('the same answer gives the same errors, so that a form does not set them anew', () => {
  const outcome = refused({ name: ['Missing.'] });
  expect(nestErrors(outcome)).toBe(nestErrors({ ...outcome }));
});

test.each([
  ['nothing yet', null],
  ['a success', { ok: true, data: 1, replayed: false, key: 'k', nextKey: 'n' } as const],
  ['a refusal of no field', refuse('failed')],
])('%s has none', (_, outcome) => {
  expect([nestErrors(outcome), bracketErrors(outcome)]).toEqual([undefined, undefined]);
});

test('a name that objects inherit is a name like any other', () => {
  const nested = nestErrors(refused({ 'constructor.polluted': ['No.'] }));
  expect(Object.entries(nested ?? {})).toEqual([['constructor', { polluted: message('No.') }]]);
  nestErrors(refused({ '__proto__.polluted': ['No.'] }));
  expect([({} as Record<string, unknown>).polluted, 'polluted' in Object]).toEqual([undefined, false]);
});
