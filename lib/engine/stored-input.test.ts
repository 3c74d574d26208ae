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
});

test('a newer input is for another instance', () => {
  const text = encodeInput(stored, { inputVersion: 2 });
  expect(() => decodeInput(text, {})).toThrow(expect.objectContaining({ code: 'unavailable' }));
});

test('files and class instances are refused, with where they are', () => {
  expect(() => encodeInput({ input: { photo: new Blob(['x']) }, context: [] }, {})).toThrow('.photo');
});
