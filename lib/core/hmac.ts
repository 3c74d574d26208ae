import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;

/** HMAC-SHA-256 of a message under a key of its own: 32 bytes. */
export type Hmac = (message: Uint8Array) => Buffer;

/**
 * HMAC-SHA-256 under one key, for many messages.
 *
 * Two one-shot hashes take half the time of a `createHmac`, which makes an object for each message. The hashes hand over
 * strings because each digest in bytes would be an ArrayBuffer, which costs the garbage collector more than its 32 bytes.
 * Source: RFC 2104.
 */
export function hmacUnder(key: Uint8Array): Hmac {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.set(key.length > BLOCK_BYTES ? hash('sha256', key, 'buffer') : key);
  const inner = block.map((byte) => byte ^ 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ 0x5c));
  return (message) => {
    const text = Buffer.concat([inner, message]);
    // One buffer for all messages: nothing is awaited between its two uses.
    outer.write(hash('sha256', text, 'binary'), BLOCK_BYTES, 'binary');
    text.fill(0, 0, BLOCK_BYTES); // it lies in memory that Node hands out again unread, where no key should stay
    return Buffer.from(hash('sha256', outer, 'binary'), 'binary');
  };
}
