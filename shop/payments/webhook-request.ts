import { BadPayloadError } from 'oncekit';
import { readBytes } from 'oncekit/next';

/** The body as it came, because it is signed as it came; or the refusal of one that is too large, or breaks off. */
export async function rawBody(request: Request, maxBytes?: number): Promise<Buffer | Response> {
  try {
    return Buffer.from(await readBytes(request, maxBytes));
  } catch (error) {
    if (!(error instanceof BadPayloadError)) throw error;
    return refusal(error.code === 'payload_too_large' ? 413 : 400, error.message);
  }
}

/** A refusal in words, for whoever reads the sender's log. */
export function refusal(status: number, why: string): Response {
  return new Response(`${why}\n`, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}
