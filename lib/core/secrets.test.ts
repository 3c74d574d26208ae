import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hmacUnder } from './secrets.ts';

const theirs = (key: Uint8Array, message: Uint8Array) => createHmac('sha256', key).update(message).digest('hex');
/** Shorter than a block of the hash, a block, longer; and none. */
const key = fc.uint8Array({ maxLength: 200 });
const message = fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ minLength: 4000, maxLength: 9000 }));

describe('hmac', () => {
  test('F2 it is the HMAC-SHA-256 of Node, for one message after the other', () => {
    fc.assert(
      fc.property(key, fc.array(message, { minLength: 1, maxLength: 4 }), (bytes, messages) => {
        const hmac = hmacUnder(bytes);
        const ours = messages.map((each) => hmac(each)); // read at the end: a later one leaves an earlier one alone
        expect(ours.map((each) => each.toString('hex'))).toEqual(messages.map((each) => theirs(bytes, each)));
      }),
    );
  });

  test.each([0, 1, 63, 64, 65, 128, 300])('F2 a key of %d bytes', (length) => {
    const bytes = new Uint8Array(length).fill(7);
    const message = Buffer.from('json:1');
    expect(hmacUnder(bytes)(message).toString('hex')).toBe(theirs(bytes, message));
  });
});
