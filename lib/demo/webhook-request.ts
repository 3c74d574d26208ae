/**
 * The body as it came, because it is signed as it came; undefined when there is more of it than `maxBytes`. Stops
 * reading there: what Content-Length says may be wrong, or not be said.
 */
export async function rawBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return undefined;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A refusal in words, for whoever reads the sender's log. */
export function refusal(status: number, why: string): Response {
  return new Response(`${why}\n`, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}
