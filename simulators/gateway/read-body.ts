import type { IncomingMessage } from 'node:http';
import { tooLarge } from './stripe-error.ts';

const LIMIT = 1024 * 1024;

/**
 * The whole body. Throws Stripe's 413 when it is larger than 1 MiB, but reads up to sixteen times as much first: a
 * connection closed on a client that is still sending loses the answer that explains it. Rejects with another error when
 * the client leaves.
 */
export async function readBody(req: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of req as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size <= LIMIT) pieces.push(piece);
    if (size > 16 * LIMIT) break;
  }
  if (size > LIMIT) throw tooLarge();
  return Buffer.concat(pieces).toString();
}
