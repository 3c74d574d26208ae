import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { decodeInput, encodeInput } from './stored-input.ts';

const stored = { input: { at: new Date(0), n: 5n, tags: new Set(['a']) }, context: ['order-1'] };

test('survives with its rich values', () => {
  expect(decodeInput(encodeInput(stored, {}), {})).toEqual(stored);
});

test('an older input is led to this version, step by step', () => {
  const text = encodeInput({ input: { name: 'Ada' }, context: [] }, {});
  const inputUpcasts = {
    1: (input: { name: string }) => ({ names: [input.name] }),
    2: (input: { names: string[] }) => ({ names: input.names, first: input.names[0] }),
  };
  expect(decodeInput(text, { inputVersion: 3, inputUpcasts }).input).toEqual({ names: ['Ada'], first: 'Ada' });
  expect(() => decodeInput(text, { inputVersion: 2 })).toThrow('no upcast leads');
  const failing = { inputVersion: 2, inputUpcasts: { 1: () => expect.fail('no luck') } };
  expect(() => decodeInput(text, failing)).toThrow('no luck');
});

test('a newer input is for another instance', () => {
  const text = encodeInput(stored, { inputVersion: 2 });
  expect(() => decodeInput(text, {})).toThrow(expect.objectContaining({ code: 'unavailable' }));
});

test('what cannot be stored is reported without what it says', () => {
  const input = {
    name: 'secret-name',
    card: new (class Card {
      number = 'secret-4242';
    })(),
  };
  let error: unknown;
  try {
    encodeInput({ input, context: ['secret-context'] }, {});
  } catch (caught) {
    error = caught;
  }
  expect(error).toMatchObject({ existing: 'input.card is an instance of Card' });
  expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('secret');
});

test('files and class instances are refused, with where they are', () => {
  expect(() => encodeInput({ input: { photo: new Blob(['x']) }, context: [] }, {})).toThrow(
    'input.photo is an instance of Blob. Give',
  );
});
